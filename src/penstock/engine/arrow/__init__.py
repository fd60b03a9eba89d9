"""What Arrow computes of few rows in the driver, exactly as Spark would."""
