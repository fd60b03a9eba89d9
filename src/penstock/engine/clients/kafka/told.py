"""What the driver of Kafka raises as an error of ours."""

from confluent_kafka import KafkaError, KafkaException

from penstock.engine.clients.kafka.place import KafkaPlace
from penstock.engine.secrets import Secrets
from penstock.errors import PenstockError, shortened

LONGEST = 500  # of what the driver says, in our errors
UNREACHED = "check servers, and whether they run; it is tried again"
HINTS = {
    KafkaError._ALL_BROKERS_DOWN: UNREACHED,
    KafkaError._TRANSPORT: UNREACHED,
    KafkaError._TIMED_OUT: UNREACHED,
    KafkaError._RESOLVE: UNREACHED,
    KafkaError._AUTHENTICATION: "check user, password and mechanism",
    KafkaError._SSL: "check tls and ca",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "make the topic, or name another one",
    KafkaError._UNKNOWN_TOPIC: "make the topic, or name another one",
    KafkaError._UNKNOWN_PARTITION: "somebody has deleted the topic, or made it anew",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "grant the user what it needs",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "grant the user what it needs",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "grant the user what it needs",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "grant the user what it needs",
    KafkaError._FENCED: "another process delivers for the same query of the same home: end one",
    KafkaError.MSG_SIZE_TOO_LARGE: "the topic's max.message.bytes bounds a record",
}


def told(
    place: KafkaPlace,
    error: KafkaError | KafkaException,
    failure: type[PenstockError],
    secrets: Secrets,
) -> PenstockError:
    """Return what went wrong as a `failure`, with what can be done about it."""
    code = error.args[0] if isinstance(error, KafkaException) else error
    said, hint = str(error), ""
    if isinstance(code, KafkaError):
        said, hint = code.str(), HINTS.get(code.code(), "")
    return failure(f"{place}: {shortened(secrets.scrubbed(said), LONGEST)}", hint=hint)
