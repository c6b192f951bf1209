"""Images in an object store, written and read by URL: moto's server checks the signatures."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
from collections.abc import Iterator

import boto3
import pytest
import sinterfs
from moto.server import ThreadedMotoServer

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
