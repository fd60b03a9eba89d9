"""Write the home that later versions have to open: `python -m tests.e2e.write_home`."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import penstock
from penstock.runtime.durable.home import FORMAT
from tests.e2e.test_identity import HOMES, write_half


def main() -> None:
    """Let queries stand half way, and pack the home."""
    with TemporaryDirectory() as place:
        home = Path(place) / "home"
        with penstock.connect(home) as ps:
            write_half(ps)
        HOMES.mkdir(exist_ok=True)
        with tarfile.open(HOMES / f"format-{FORMAT}.tar.gz", "w:gz") as packed:
            packed.add(home, "home")


if __name__ == "__main__":
    main()
