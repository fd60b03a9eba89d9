"""Connectors: what SQL may name after FROM and INTO, each declared once, in this list."""

from penstock.engine.connectors.connector import ConnectorKind
from penstock.engine.interfaces import files, generator, replay, spark
from penstock.engine.interfaces.kafka import kafka
from penstock.engine.interfaces.lake import delta
from penstock.engine.interfaces.pushed import push
from penstock.engine.interfaces.received import http, mqtt, sse
from penstock.engine.interfaces.received import postgres as postgres_changes
from penstock.engine.sinks import console
from penstock.engine.sinks import files as files_sink
from penstock.engine.sinks.delta import delta as delta_sink
from penstock.engine.sinks.http import http as http_sink
from penstock.engine.sinks.kafka import kafka as kafka_sink
from penstock.engine.sinks.mqtt import mqtt as mqtt_sink
from penstock.engine.sinks.postgres import postgres
from penstock.engine.tables import TABLES

CONNECTORS = {
    each.name: each
    for each in (
        ConnectorKind(
            "console",
            "results on standard output",
            sink=console.ConsoleSink,
            sink_options=console.OPTIONS,
        ),
        ConnectorKind(
            "delta",
            "a table of Delta Lake",
            source=delta.Delta,
            source_options=delta.OPTIONS,
            sink=delta_sink.DeltaSink,
            sink_options=delta_sink.OPTIONS,
            table_options=TABLES["delta"],
            extra="lake",
            modules=("deltalake",),
        ),
        ConnectorKind(
            "files",
            "JSON, CSV, text or Parquet files of a directory",
            source=files.FILES,
            source_options=files.OPTIONS,
            sink=files_sink.FilesSink,
            sink_options=files_sink.OPTIONS,
            table_options=TABLES["files"],
        ),
        ConnectorKind(
            "generator",
            "expressions over the tuple's number",
            source=generator.Generator,
            source_options=generator.OPTIONS,
        ),
        ConnectorKind(
            "http",
            "an address: asked again and again, or told each delivery",
            source=http.Http,
            source_options=http.OPTIONS,
            sink=http_sink.HttpSink,
            sink_options=http_sink.OPTIONS,
            extra="http",
            modules=("httpx",),
        ),
        ConnectorKind(
            "kafka",
            "topics of Kafka",
            source=kafka.Kafka,
            source_options=kafka.OPTIONS,
            sink=kafka_sink.KafkaSink,
            sink_options=kafka_sink.OPTIONS,
            extra="kafka",
            modules=("confluent_kafka", "fastavro", "google.protobuf", "httpx"),
        ),
        ConnectorKind(
            "mqtt",
            "topics of an MQTT broker",
            source=mqtt.Mqtt,
            source_options=mqtt.OPTIONS,
            sink=mqtt_sink.MqttSink,
            sink_options=mqtt_sink.OPTIONS,
            extra="mqtt",
            modules=("paho",),
        ),
        ConnectorKind(
            "postgres",
            "a table of PostgreSQL, or what changes in one",
            source=postgres_changes.PostgresChanges,
            source_options=postgres_changes.OPTIONS,
            sink=postgres.PostgresSink,
            sink_options=postgres.OPTIONS,
            table_options=TABLES["postgres"],
            extra="postgres",
            modules=("psycopg",),
        ),
        ConnectorKind(
            "push",
            "rows from Python or HTTP, kept in a log before they are acknowledged",
            source=push.Push,
            source_options=push.OPTIONS,
        ),
        ConnectorKind(
            "replay",
            "a recording, played at its own timestamps",
            source=replay.Replay,
            source_options=replay.OPTIONS,
        ),
        ConnectorKind(
            "spark",
            "any source of Structured Streaming",
            source=spark.Spark,
            source_options=spark.OPTIONS,
        ),
        ConnectorKind(
            "sse",
            "Server-Sent Events of an address",
            source=sse.Sse,
            source_options=sse.OPTIONS,
            extra="http",
            modules=("httpx", "httpx_sse"),
        ),
    )
}
