"""The examples of a server: what can be told of them where neither Docker nor Grafana runs."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from penstock import __version__
from penstock.cli.main import make_parser
from penstock.server.configuration import resolved

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "examples" / "server"
DOCKERFILE = (SERVER / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((SERVER / "compose.yml").read_text())
DASHBOARD = json.loads((SERVER / "grafana/dashboards/penstock.json").read_text())
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*")
COLUMNS = 24  # of a dashboard


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions, comments left out and lines joined."""
    lines = "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#"))
    whole = re.sub(r"\\\n\s*", "", lines)
    return [(line.split()[0], line.partition(" ")[2]) for line in whole.splitlines() if line]


def of(name: str) -> list[str]:
    return [told for instruction, told in instructions() if instruction == name]


def test_the_image_is_built_on_pinned_versions() -> None:
    assert of("FROM")
    assert all(PINNED.fullmatch(each.split()[0]) for each in of("FROM"))


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_fares() -> None:
    last_stage = instructions()[-1 - [name for name, _ in instructions()][::-1].index("FROM") :]
    names = [name for name, _ in last_stage]
    user = next(told for name, told in last_stage if name == "USER")
    assert int(user) > 0  # a number: Kubernetes can tell that it is not root
    assert names.index("USER") > max(n for n, name in enumerate(names) if name == "RUN")
    assert names.index("USER") < names.index("CMD")
    assert "/health/ready" in of("HEALTHCHECK")[0]


def test_the_image_keeps_nothing_of_how_it_was_made() -> None:
    for run in of("RUN"):
        assert "apt-get install" not in run or run.rstrip().count("rm -rf /var/lib/apt/lists/*")
        assert "apt-get install" not in run or "--no-install-recommends" in run
        assert "pip install" not in run or "--no-cache-dir" in run
        assert not re.search(r"curl|wget|sudo", run)
    assert not of("ADD")  # COPY says what it does
    assert not of("MAINTAINER")


def test_the_image_starts_what_there_is_and_copies_what_there_is() -> None:
    (command,) = of("CMD")
    make_parser(["serve"]).parse_args(json.loads(command)[1:])
    ignored = (SERVER / "Dockerfile.dockerignore").read_text()
    for copied in (word for told in of("COPY") for word in told.split()[:-1]):
        if not copied.startswith("-") and not copied.startswith("/"):
            assert (ROOT / copied).exists(), copied
            assert f"!{copied}\n" in ignored


def test_settings_in_the_image_are_ours() -> None:
    known = dict(re.findall(r"(PENSTOCK_\w+)=(\S+)", " ".join(of("ENV"))))
    found = resolved({}, known)
    assert (found.home, found.http_host) == ("/var/lib/penstock", "0.0.0.0")
    assert found.origins.keys() == {"home", "http.host", "log.format"}


def test_the_example_of_a_configuration_is_one() -> None:
    found = resolved({}, {}, str(SERVER / "penstock.toml"))
    assert found.is_loopback
    assert found.home == "/var/lib/penstock"


def test_services_are_pinned_and_reached_from_this_machine_alone() -> None:
    for service in COMPOSE["services"].values():
        assert PINNED.fullmatch(service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert COMPOSE["services"]["penstock"]["image"].endswith(f":{__version__}")


def test_what_services_are_given_is_there() -> None:
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source, inside = volume.split(":")[:2]
            assert inside.startswith("/")
            assert (SERVER / source).exists() if "/" in source else source in COMPOSE["volumes"]
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys()
    command = COMPOSE["services"]["penstock"]["command"]
    make_parser(["serve"]).parse_args(command[1:])


def test_prometheus_asks_where_penstock_answers() -> None:
    config = yaml.safe_load((SERVER / "prometheus/prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["penstock:8080"]}]
    secret = Path(job["authorization"]["credentials_file"])
    assert secret.parent == Path("/run/secrets")
    assert secret.name in COMPOSE["services"]["prometheus"]["secrets"]
    assert all((SERVER / "prometheus" / each).exists() for each in config["rule_files"])


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    provisioning = SERVER / "grafana/provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((provisioning / "dashboards/penstock.yml").read_text())[
        "providers"
    ]
    mounted = [each.split(":")[1] for each in COMPOSE["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounted


def test_panels_have_names_numbers_and_places_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    covered: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & covered, panel["title"]
        covered |= cells


def test_panels_ask_the_chosen_source_for_the_chosen_things() -> None:
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    for panel in (each for each in DASHBOARD["panels"] if each["type"] != "row"):
        assert panel["description"].endswith(".")
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
            assert used <= variables.keys()
            assert "job" in used


def test_systemd_ends_it_in_good_order() -> None:
    unit = dict(
        line.split("=", 1)
        for line in (SERVER / "penstock.service").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    assert unit["KillMode"] == "mixed"  # Java must not be ended before the checkpoint
    assert unit["User"] == "penstock"
    words = unit["ExecStart"].split()[1:]
    args = make_parser(words).parse_args(words)
    assert Path(args.config).name == "penstock.toml"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = tmp_path / "penstock"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (
        (SERVER / "penstock.service")
        .read_text()
        .replace("/opt/penstock/bin/penstock", str(program))
    )
    (tmp_path / "penstock.service").write_text(text)
    try:
        told = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / "penstock.service")],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not here")
    assert told.stderr == ""
    assert told.returncode == 0
