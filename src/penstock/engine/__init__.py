"""The only room that knows Spark: sessions, trains, buffers, units, interfaces and sinks."""
