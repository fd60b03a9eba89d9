"""`python -m benchmarks.scheduling.overhead`: what deciding costs with a thousand operators."""

import tempfile
import time

import penstock
from benchmarks.scheduling.load import train
from benchmarks.scheduling.phases import drain
from penstock.runtime.loop.supervisor import Settings

QUERIES = 500  # of two operators each, all over one stream: all become ready at once
TUPLES = 200
STRATEGIES = ("round_robin", "pcs", "chain", "optprofit WITH (handling => profit_dominant)")
SLOTS = 2


def main() -> None:
    """Let every query run over one train under each strategy, and print the share of deciding."""
    settings = Settings(slots=SLOTS, share=False, checkpoint_seconds=60)
    with (
        tempfile.TemporaryDirectory() as home,
        penstock.connect(home, master=f"local[{SLOTS}]", settings=settings) as connection,
    ):
        made = (
            f"CREATE QUERY q{n} AS SELECT ts, n + {n} AS v FROM s WHERE n % 100 = {n % 100} "
            f"AND n > {-n}"
            for n in range(QUERIES)
        )
        stream = "CREATE STREAM s (ts TIMESTAMP, n BIGINT, payload STRING) TIMESTAMP BY ts "
        connection.script(f"{stream} VALID FOR INTERVAL 60 SECONDS FROM push(); {';'.join(made)}")
        dispatcher = connection.system.supervisor.control.dispatcher
        for strategy in STRATEGIES:
            connection.sql(f"SET STRATEGY {strategy}")
            before = (dispatcher.deciding_seconds, dispatcher.statistics.busy_seconds)
            began = time.monotonic()
            connection.push("s", train(TUPLES, 0))
            drain(connection)
            deciding = dispatcher.deciding_seconds - before[0]
            busy = dispatcher.statistics.busy_seconds - before[1]
            print(
                f"{strategy:46} {len(connection.system.topology.units)} units, deciding "
                f"{deciding:.3f} s of {busy:.1f} s at work: {deciding / busy:.2%}, "
                f"in {time.monotonic() - began:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
