"""Stream properties (ANA-19): what streams are like, measured train by train at small cost."""
