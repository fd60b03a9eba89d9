"""Files of other storage, named by URIs and read through Arrow: object stores, HDFS.

A file that is gone is told as one of this machine is (FileNotFoundError); whatever else goes wrong
may pass, so it is a SourceError: no file may be given up because a network was down.
"""

import io
import os
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

from pyarrow import fs

from penstock.errors import BadOptionError, SourceError

URI = re.compile(r"([a-z][a-z0-9+.-]*)://")
S3 = ("s3", "s3a")  # Hadoop's name for the same
SCHEMES = (*S3, "gs", "abfs", "abfss", "hdfs", "viewfs")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
SECONDS = 20.0  # for a connection, and for an answer
BUFFER = 1 << 20  # bytes that are asked for at once
NOT_IN_A_PATH = re.compile(r"[?#@\\]|//|(?:^|/)\.\.?(?:/|$)")
PATTERN = re.compile(r"[*\[{]")


@dataclass(frozen=True, slots=True)
class Stat:
    """What a file's system says of it, named as Python names it for its own."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of other storage; it does what is asked of a Path where files are read."""

    uri: str

    def __str__(self) -> str:
        """Return its URI."""
        return self.uri

    @property
    def name(self) -> str:
        """Return the last part of it."""
        return self.uri.rpartition("/")[2]

    def stat(self) -> Stat:
        """Return its size and time; FileNotFoundError where it is gone."""
        system, place = _placed(self.uri)
        with told(self.uri):
            found = system.get_file_info(place)
        if found.type is not fs.FileType.File:
            raise FileNotFoundError(self.uri)
        return Stat(found.size, found.mtime_ns or 0)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it for reading, anywhere in it."""
        if mode != "rb":
            raise ValueError(mode)
        system, place = _placed(self.uri)
        with told(self.uri):
            return io.BufferedReader(_Read(self.uri, system.open_input_file(place)), BUFFER)


class _Read(io.RawIOBase):
    """A file of Arrow's as Python reads files, with our errors."""

    def __init__(self, uri: str, file: Any) -> None:
        self._uri, self._file = uri, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        with told(self._uri):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        with told(self._uri):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def is_remote(path: str) -> bool:
    """Say whether a path is a URI of other storage."""
    return URI.match(path) is not None


def check_remote(path: str) -> None:
    """Raise BadOptionError where a URI is of no storage that is known, or says more than where."""
    found = URI.match(path)
    scheme = found[1] if found else ""
    if scheme not in SCHEMES:
        raise BadOptionError(
            f"option path is '{path}', and {scheme}: is no storage that files reads",
            hint=f"it reads {', '.join(SCHEMES)} and paths of this machine; "
            "spark(format => 'json', path => '…') reads whatever Spark reads",
        )
    place = path.partition("://")[2]
    if not place or NOT_IN_A_PATH.search(place):
        raise BadOptionError(
            "option path is a URI with more than a place in it",
            hint="credentials, endpoints and regions come from the environment, such as "
            "AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL",
        )
    if PATTERN.search(place):
        raise BadOptionError(
            f"option path is '{path}', and patterns are for files of this machine",
            hint="name the directory",
        )


def require_remote(path: str) -> None:
    """Raise SourceError where there is nothing at a URI."""
    system, place = _placed(path)
    with told(path):
        found = system.get_file_info(place)
    if found.type is fs.FileType.NotFound:
        raise SourceError(
            f"{path} is not there",
            hint="correct the path or make it; of a bucket, look at its name and region, and at "
            "what the credentials may list",
        )


def find_remote(path: str, known: Container[str], *, recursive: bool = False) -> list[str]:
    """Return the URIs of files at a URI that are not known: itself, or those in a directory."""
    system, place = _placed(path)
    with told(path):
        at = system.get_file_info(place)
        if at.type is fs.FileType.File:
            return [] if path in known else [path]
        inside = system.get_file_info(fs.FileSelector(place, recursive=recursive))
    files = (each.path for each in inside if each.type is fs.FileType.File)
    found = (f"{path.rstrip('/')}/{file.removeprefix(place).lstrip('/')}" for file in files)
    return [each for each in found if each not in known]


@contextmanager
def told(uri: str) -> Iterator[None]:
    """Raise SourceError for what storage says, but FileNotFoundError for what is gone."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise SourceError(
            f"{uri} cannot be read: {str(error).splitlines()[0]}",
            hint="look at the network, the credentials and, of a bucket, its name and region",
        ) from error


def _placed(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URI, and the place in it."""
    scheme, _, place = uri.partition("://")
    bucket = place.partition("/")[0]
    with told(uri):
        system = _system("s3" if scheme in S3 else scheme, bucket)
    return system, place if scheme in S3 or scheme == "gs" else f"/{place.partition('/')[2]}"


@cache
def _system(scheme: str, bucket: str) -> fs.FileSystem:
    if scheme == "s3":
        return _s3(bucket)
    system, _ = fs.FileSystem.from_uri(f"{scheme}://{bucket}/")
    return system


def _s3(bucket: str) -> fs.FileSystem:
    """Return an object store, where the environment says that it is."""
    given = {
        "endpoint_override": next((e for n in ENDPOINTS if (e := os.environ.get(n))), None),
        "region": next((e for n in REGIONS if (e := os.environ.get(n))), None),
    }
    if not any(given.values()):
        given["region"] = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        request_timeout=SECONDS,
        connect_timeout=SECONDS,
        **{name: value for name, value in given.items() if value},
    )
