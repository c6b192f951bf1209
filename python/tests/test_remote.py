"""Images in an object store, written and read by URL: moto's server checks the signatures."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import pathlib
import pickle
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import Request, urlopen

import boto3
import pytest
import sinterfs
from moto.server import DomainDispatcherApplication, ThreadedMotoServer, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}
BUCKET = "images"


class Store:
    """A store with one bucket, and credentials that it knows."""

    def __init__(self, url: str) -> None:
        self.url = url
        anybody = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
        users = boto3.client("iam", endpoint_url=url, region_name="us-east-1", **anybody)
        users.create_user(UserName="writer")
        users.put_user_policy(
            UserName="writer", PolicyName="all", PolicyDocument=json.dumps(POLICY)
        )
        key = users.create_access_key(UserName="writer")["AccessKey"]
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        self.client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
        )
        self.client.create_bucket(Bucket=BUCKET)

    def names(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=BUCKET)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def unfinished(self) -> int:
        return len(self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        # after the three requests that make the user, signatures are compared
        patch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 3)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            made = Store(f"http://{host}:{port}")
            patch.setenv("AWS_ENDPOINT_URL", made.url)
            patch.setenv("AWS_REGION", "us-east-1")
            patch.setenv("AWS_ACCESS_KEY_ID", made.key)
            patch.setenv("AWS_SECRET_ACCESS_KEY", made.secret)
            yield made
        finally:
            server.stop()


@pytest.mark.parametrize("form", ["dwarfs", "squashfs", "erofs"])
def test_an_image_is_the_same_in_a_store(
    store: Store, tree: pathlib.Path, tmp_path: pathlib.Path, form: str
) -> None:
    url = f"s3://{BUCKET}/a dir/tree.{form}"
    options = {"level": 1, "create_timestamp": 0} if form == "dwarfs" else {"level": 1}
    sinterfs.build(tree, url, **options)
    sinterfs.build(tree, tmp_path / f"tree.{form}", **options)
    there = store.client.get_object(Bucket=BUCKET, Key=f"a dir/tree.{form}")["Body"].read()
    assert there == (tmp_path / f"tree.{form}").read_bytes()
    with sinterfs.Image.open(url) as image:
        assert image.read_bytes("hello.txt") == b"hello, world\n"
        assert image.read_bytes("sub/noise") == (tree / "sub/noise").read_bytes()


def test_parts_make_one_object(store: Store, tmp_path: pathlib.Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "noise").write_bytes(os.urandom(45_000_000))
    url = f"s3://{BUCKET}/parts.dwarfs"
    sinterfs.build(tree, url, level=0)
    with sinterfs.Image.open(url) as image:
        assert image.read_bytes("noise") == (tree / "noise").read_bytes()
    assert store.client.head_object(Bucket=BUCKET, Key="parts.dwarfs")["ETag"].endswith('-6"')


def test_an_object_is_replaced_only_if_asked(store: Store, tree: pathlib.Path) -> None:
    url = f"s3://{BUCKET}/once.dwarfs"
    sinterfs.build(tree / "sub", url, level=1)
    with pytest.raises(sinterfs.SinterError, match="the output exists"):
        sinterfs.build(tree, url, level=1)
    with sinterfs.Image.open(url) as image:
        assert "noise" in image.listdir()
    sinterfs.build(tree, url, level=1, replace=True)
    with sinterfs.Image.open(url) as image:
        assert "hello.txt" in image.listdir()


def test_a_build_that_fails_leaves_nothing(store: Store, tree: pathlib.Path) -> None:
    class StopError(Exception):
        pass

    def progress(*event: object) -> None:
        raise StopError

    before = store.names()
    with pytest.raises(StopError):
        sinterfs.build(tree, f"s3://{BUCKET}/stopped.dwarfs", level=9, progress=progress)
    with pytest.raises(sinterfs.InvalidRequestError):
        sinterfs.build(tree, f"s3://{BUCKET}/strict.squashfs", time_resolution="1ns")
    assert store.names() == before
    assert store.unfinished() == 0


def test_who_may_not_write_is_told_before_the_build(
    store: Store, tree: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.names()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError, match="refuses the credentials"):
        sinterfs.build(tree, f"s3://{BUCKET}/denied.dwarfs")
    monkeypatch.undo()
    assert store.names() == before


def test_web_servers_take_no_images(tree: pathlib.Path) -> None:
    with pytest.raises(sinterfs.SinterError, match="object stores"):
        sinterfs.build(tree, "http://127.0.0.1:9/x.dwarfs")


def test_a_child_of_a_fork_reads_on(store: Store, tree: pathlib.Path) -> None:
    url = f"s3://{BUCKET}/forked.dwarfs"
    sinterfs.build(tree, url, level=1)
    with sinterfs.Image.open(url) as image:
        assert image.read_bytes("hello.txt") == b"hello, world\n"
        child = os.fork()
        if child == 0:
            same = image.read_bytes("sub/noise") == (tree / "sub/noise").read_bytes()
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert pickle.loads(pickle.dumps(image)).read_bytes("hello.txt") == b"hello, world\n"


def served(server: BaseWSGIServer | ThreadingHTTPServer) -> None:
    threading.Thread(target=server.serve_forever, daemon=True).start()


def test_google_cloud_storage(
    tree: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its XML interface is that of S3, but for who asks: so moto's is asked without that."""
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", float("inf"))
    backend = DomainDispatcherApplication(create_backend_app)

    def front(environ: dict[str, str], start: Callable[..., object]) -> Iterable[bytes]:
        environ.pop("HTTP_AUTHORIZATION", None)
        answer: Iterable[bytes] = backend(environ, start)
        return answer

    server = make_server("127.0.0.1", 0, front, threaded=True)
    served(server)
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        urlopen(Request(f"{url}/google", method="PUT")).close()
        names = ("client_email", "private_key", "private_key_id")
        account = {"gcs_base_url": url, "disable_oauth": True} | dict.fromkeys(names, "")
        monkeypatch.setenv("GOOGLE_BASE_URL", url)
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(account))
        written_and_read("gs://google/a dir/tree", tree, tmp_path)
    finally:
        server.shutdown()
        server.server_close()


class Blobs(BaseHTTPRequestHandler):
    """As much of Azure's Blob service as images need, with its signatures (Shared Key)."""

    protocol_version = "HTTP/1.1"
    account, key = "account", b"k" * 32
    blobs: ClassVar[dict[str, bytes]] = {}
    blocks: ClassVar[dict[tuple[str, str], bytes]] = {}
    refused: ClassVar[list[str]] = []

    def signature(self) -> str:
        names = "content-encoding content-language content-length content-md5 content-type date"
        conditions = "if-modified-since if-match if-none-match if-unmodified-since range"
        values = [self.headers.get(name, "") for name in f"{names} {conditions}".split()]
        values[2] = values[2] if values[2] != "0" else ""
        own = sorted((n.lower(), v) for n, v in self.headers.items() if n.lower()[:5] == "x-ms-")
        url = urlsplit(self.path)
        query = sorted(parse_qsl(url.query))
        lines = [self.command, *values, *(f"{name}:{value}" for name, value in own)]
        lines += [f"/{self.account}{url.path}", *(f"{name}:{value}" for name, value in query)]
        mac = hmac.new(self.key, "\n".join(lines).encode(), hashlib.sha256).digest()
        return f"SharedKey {self.account}:{base64.b64encode(mac).decode()}"

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def put(self, name: str, query: dict[str, str], body: bytes) -> None:
        if query.get("comp") == "block":
            self.blocks[name, query["blockid"]] = body
        elif query.get("comp") == "blocklist":
            numbers = re.findall(r"<(?:Latest|Uncommitted)>([^<]+)<", body.decode())
            self.blobs[name] = b"".join(self.blocks.pop((name, number)) for number in numbers)
        else:
            self.blobs[name] = body
        self.answer(201, ETag='"new"')

    def get(self, name: str) -> None:
        whole = self.blobs[name]
        tag = f'"{hashlib.sha256(whole).hexdigest()}"'
        about = {"ETag": tag, "Last_Modified": "Mon, 23 Nov 2026 10:00:00 GMT"}
        wanted = self.headers.get("range", "")
        if self.headers.get("if-match", tag) != tag:
            self.answer(412)
        elif not wanted:
            self.answer(200, whole, **about)
        else:
            first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
            last = min(last, len(whole) - 1)
            place = f"bytes {first}-{last}/{len(whole)}"
            self.answer(206, whole[first : last + 1], Content_Range=place, **about)

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        url = urlsplit(self.path)
        name = unquote(url.path)
        if self.headers.get("authorization") != self.signature():
            self.refused.append(self.path)
            self.answer(403)
        elif self.command == "PUT":
            self.put(name, dict(parse_qsl(url.query)), body)
        elif name not in self.blobs:
            self.answer(404)
        else:
            self.get(name)

    do_GET = do_HEAD = do_PUT = handle_any  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def test_azure_blob_storage(
    tree: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Blobs)
    served(server)
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", url)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", Blobs.account)
        key = base64.b64encode(Blobs.key).decode()
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", key)
        written_and_read("az://container/a-dir/tree", tree, tmp_path)
        assert not Blobs.refused
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"other").decode())
        with pytest.raises(OSError, match="403"):
            sinterfs.Image.open("az://container/a-dir/tree.dwarfs")
        assert Blobs.refused
    finally:
        server.shutdown()
        server.server_close()


def written_and_read(url: str, tree: pathlib.Path, tmp_path: pathlib.Path) -> None:
    large = tmp_path / "large"
    large.mkdir()
    (large / "noise").write_bytes(os.urandom(20_000_000))
    for form, source in (("dwarfs", tree), ("squashfs", tree), ("dwarfs", large)):
        place = f"{url}.{form}"
        sinterfs.build(source, place, level=0, replace=source == large)
        with sinterfs.Image.open(place) as image:
            for name in ("noise",) if source == large else ("hello.txt", "sub/noise"):
                assert image.read_bytes(name) == (source / name).read_bytes()
        with pytest.raises(sinterfs.SinterError, match="the output exists"):
            sinterfs.build(source, place, level=0)
    with pytest.raises(FileNotFoundError):
        sinterfs.Image.open(f"{url}.missing")
