"""Tags of databases, connections and crawlers as Terraform's provider writes and reads them, over the wired server."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from penstock.errors import InvalidInput, LimitExceeded, NotFound
from tests.unit.api.aws.every_operation import ACCOUNT, VALUES, World, start

TAGS = {"team": "ops", "stage": "test"}
CONNECTION = {"Name": "msk", "ConnectionType": "KAFKA", "ConnectionProperties": VALUES["ConnectionProperties"]}
CREATE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "database": ("CreateDatabase", {"DatabaseInput": {"Name": "msk"}}),
    "connection": ("CreateConnection", {"ConnectionInput": CONNECTION}),
    "crawler": (
        "CreateCrawler", {"Name": "msk", "Role": "r", "Targets": {"S3Targets": [{"Path": "s3://lake/shelves/"}]}},
    ),
}  # fmt: skip
UPDATE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "database": ("UpdateDatabase", {"Name": "msk", "DatabaseInput": {"Name": "msk", "Description": "d"}}),
    "connection": ("UpdateConnection", {"Name": "msk", "ConnectionInput": CONNECTION}),
    "crawler": ("UpdateCrawler", {"Name": "msk", "Description": "d"}),
}
DELETE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "database": ("DeleteDatabase", {"Name": "msk"}),
    "connection": ("DeleteConnection", {"ConnectionName": "msk"}),
    "crawler": ("DeleteCrawler", {"Name": "msk"}),
}
KINDS = pytest.mark.parametrize("kind", CREATE)


@pytest.fixture
def world(tmp_path: Any) -> Iterator[World]:
    made = start(tmp_path)
    yield made
    made.services.close()


def arn(kind: str, *, region: str = "us-east-1", account: str = ACCOUNT) -> str:
    return f"arn:aws:glue:{region}:{account}:{kind}/msk"


def make(world: World, kind: str, tags: Mapping[str, str] | None = None) -> None:
    operation, request = CREATE[kind]
    world.call("glue", operation, **request, **({"Tags": tags} if tags else {}))


def tags(world: World, kind: str) -> Any:
    return world.call("glue", "GetTags", ResourceArn=arn(kind))["Tags"]


@KINDS
def test_tags_are_kept_changed_and_removed(world: World, kind: str) -> None:
    make(world, kind, TAGS)
    assert tags(world, kind) == TAGS
    world.call("glue", "TagResource", ResourceArn=arn(kind), TagsToAdd={"stage": "live", "owner": "ana"})
    world.call("glue", "UntagResource", ResourceArn=arn(kind), TagsToRemove=["team", "nothing"])
    assert tags(world, kind) == {"stage": "live", "owner": "ana"}


@KINDS
def test_an_update_keeps_tags_and_a_deletion_removes_them(world: World, kind: str) -> None:
    make(world, kind, TAGS)
    operation, request = UPDATE[kind]
    world.call("glue", operation, **request)
    assert tags(world, kind) == TAGS
    operation, request = DELETE[kind]
    world.call("glue", operation, **request)
    with pytest.raises(NotFound):
        tags(world, kind)
    make(world, kind)
    assert tags(world, kind) == {}


@KINDS
def test_tags_have_bounds(world: World, kind: str) -> None:
    with pytest.raises(InvalidInput, match="aws:"):
        make(world, kind, {"aws:x": "y"})
    with pytest.raises(InvalidInput, match="51 tags"):
        make(world, kind, {str(number): "" for number in range(51)})
    make(world, kind, {str(number): "" for number in range(50)})
    with pytest.raises(LimitExceeded, match="50 tags"):
        world.call("glue", "TagResource", ResourceArn=arn(kind), TagsToAdd={"one more": ""})
    assert len(tags(world, kind)) == 50


@KINDS
def test_tags_are_of_this_account_and_region(world: World, kind: str) -> None:
    make(world, kind)
    for other in (arn(kind, region="eu-west-1"), arn(kind, account="999999999999")):
        with pytest.raises(NotFound):
            world.call("glue", "TagResource", ResourceArn=other, TagsToAdd=TAGS)


def test_a_databases_name_is_folded_in_its_arn(world: World) -> None:
    make(world, "database", TAGS)
    assert world.call("glue", "GetTags", ResourceArn=arn("database").replace("msk", "MSK"))["Tags"] == TAGS


def test_a_crawlers_tags_do_not_change_its_version(world: World) -> None:
    make(world, "crawler")
    world.call("glue", "TagResource", ResourceArn=arn("crawler"), TagsToAdd=TAGS)
    assert world.call("glue", "GetCrawler", Name="msk")["Crawler"]["Version"] == 1
    assert world.call("glue", "ListCrawlers", Tags={"team": "ops"})["CrawlerNames"] == ["msk"]


def test_a_table_has_no_tags_as_in_aws(world: World) -> None:
    with pytest.raises(InvalidInput, match="not served"):
        world.call("glue", "GetTags", ResourceArn=f"arn:aws:glue:us-east-1:{ACCOUNT}:table/air/flights")
