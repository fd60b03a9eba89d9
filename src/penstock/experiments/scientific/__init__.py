"""The experiments of GSDM: flows spread over sites."""
