"""A load's files given bit by bit, so that a system can stand before the rest comes."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Staged:
    """The files of `streams` below `path`, and where they are given; everything else is there."""

    path: Path
    staged: Path
    streams: tuple[str, ...]

    @property
    def count(self) -> int:
        """Return how many files each stream has."""
        return len(self._files(self.streams[0]))

    def rows(self, upto: int) -> int:
        """Return the rows of the first files of all streams."""
        files = (file for stream in self.streams for file in self._files(stream)[:upto])
        return sum(pq.read_metadata(file).num_rows for file in files)

    def give(self, upto: int) -> None:
        """Let each stream have its first files, up to so many."""
        for stream in self.streams:
            (self.staged / stream).mkdir(parents=True, exist_ok=True)
            for file in self._files(stream)[:upto]:
                given = self.staged / stream / file.name
                if not given.exists():
                    os.link(file, given)
        for other in self.path.iterdir():
            if other.name not in self.streams and not (self.staged / other.name).exists():
                copy = shutil.copytree if other.is_dir() else shutil.copy
                copy(other, self.staged / other.name)

    def _files(self, stream: str) -> list[Path]:
        return sorted((self.path / stream).glob("*.parquet"))
