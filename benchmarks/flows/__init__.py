"""Flows over vectors: an FFT of three channels, beside numpy, UDFs and Spark's path to Python."""
