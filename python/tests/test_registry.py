"""Images in a registry, built and read by name: the registry is that of the Docker project."""

from __future__ import annotations

import hashlib
import pathlib
import socket
import subprocess
import time
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest
import sinterfs

REGISTRY = pathlib.Path("/usr/bin/docker-registry")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def registry(tmp_path: pathlib.Path) -> Iterator[str]:
    if not REGISTRY.exists():
        pytest.skip("no docker-registry")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    configuration = tmp_path / "registry.yml"
    configuration.write_text(
        "version: 0.1\nlog: {level: error}\n"
        f"storage: {{filesystem: {{rootdirectory: {tmp_path}/registry}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}', secret: x}}\n"
    )
    quiet = subprocess.DEVNULL
    with subprocess.Popen([REGISTRY, "serve", configuration], stdout=quiet, stderr=quiet) as run:
        try:
            wait_for(port)
            yield f"127.0.0.1:{port}"
        finally:
            run.kill()


def wait_for(port: int) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end, "the registry does not start"
            time.sleep(0.05)
        else:
            return


@pytest.mark.parametrize("name", ["dwarfs", "erofs"])
def test_builds_into_a_registry_name_what_they_pushed(registry, tree, tmp_path, name):
    url = f"oci://{registry}/team/image:{name}"
    report = sinterfs.build(tree, url, format=name, level=1)
    manifest = f"http://{registry}/v2/team/image/manifests/{name}"
    with urlopen(Request(manifest, headers={"Accept": MANIFEST})) as answer:
        digest = hashlib.sha256(answer.read()).hexdigest()
    assert report.pushed == f"oci://{registry}/team/image@sha256:{digest}"
    with sinterfs.Image.open(report.pushed) as image:
        assert image["sub/file-07"].read_bytes() == (tree / "sub/file-07").read_bytes()
    with pytest.raises(sinterfs.InvalidRequestError, match="exists"):
        sinterfs.build(tree, url, format=name)
    local = sinterfs.build(tree, tmp_path / f"local.{name}", level=1)
    assert local.pushed is None
