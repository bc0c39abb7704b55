"""compose.yaml keeps what it starts to this machine, behind passwords that somebody chose, and on disks that have a name."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

TEXT = (Path(__file__).parents[2] / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SECRET = re.compile(r"PASSWORD|API_KEY|TOKEN|SECRET")
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)
STORES = sorted(SERVICES.keys() - OURS)
each_service = pytest.mark.parametrize("name", SERVICES)
each_store = pytest.mark.parametrize("name", STORES)


def test_what_it_starts() -> None:
    assert STORES == ["postgres", "qdrant"] and OURS == ["migrate", "worker"]
    assert all(SERVICES[name]["profiles"] == ["workers"] for name in OURS), "without a profile, only the stores are started"


@each_service
def test_ports_are_open_on_loopback_alone(name: str) -> None:
    assert ("ports" in SERVICES[name]) == (name in STORES)
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), "Docker opens a port without an address to everybody, past a firewall"
    assert SERVICES[name].get("network_mode") != "host"


@each_service
def test_no_password_has_a_default(name: str) -> None:
    """`${NAME:?…}` refuses to start where it is unset or empty. Without a key for a model, there is the practice model."""
    secrets = {key: value for key, value in SERVICES[name]["environment"].items() if SECRET.search(key) and key != "OPENAI_API_KEY"}
    assert secrets
    for key, value in secrets.items():
        assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{key} has a default, or may be empty"
    if name in OURS:
        assert re.search(r":\$\{POSTGRES_PASSWORD:\?[^}]+\}@", SERVICES[name]["environment"]["INTERLOCK_DATABASE_URL"])
    assert "POSTGRES_HOST_AUTH_METHOD" not in SERVICES[name]["environment"]


@each_store
def test_it_is_known_when_it_is_ready(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] == "CMD" and {"interval", "timeout", "retries"} <= check.keys()
    assert str(SERVICES[name]["ports"][0]).rpartition(":")[2] in " ".join(check["test"]) or "pg_isready" in check["test"]


@each_store
def test_data_are_on_a_named_volume_and_images_have_a_version(name: str) -> None:
    volumes = [volume.partition(":")[0] for volume in SERVICES[name]["volumes"]]
    assert volumes and set(volumes) <= COMPOSE["volumes"].keys()
    assert re.search(r":v?\d", SERVICES[name]["image"]), "an image without a version is another one tomorrow"


def test_a_worker_is_stopped_after_its_grace_and_begins_on_a_migrated_schema() -> None:
    worker = SERVICES["worker"]
    grace = float(worker["command"][worker["command"].index("--grace") + 1])
    assert float(worker["stop_grace_period"].removesuffix("s")) > grace
    assert worker["command"][worker["command"].index("--health") + 1] in " ".join(worker["healthcheck"]["test"])
    assert worker["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_how_to_use_it_is_written_with_what_it_needs() -> None:
    needed = set(re.findall(r"\$\{(\w+):\?", TEXT))
    head = TEXT.partition("services:")[0]
    assert all(f"{name}=" in head for name in needed)
    assert f"@127.0.0.1:{SERVICES['postgres']['ports'][0].split(':')[1]}/{SERVICES['postgres']['environment']['POSTGRES_DB']}" in head
