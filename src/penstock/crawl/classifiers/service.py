"""The service of custom classifiers: create, read, change and delete them, and make crawlers' recognisers of them."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.crawl.classifiers.model import Classifier, ClassifierKind, Recognizer, recognizer_of
from penstock.crawl.errors import ClassifierExists, ClassifierNotFound
from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.statements.resources import ResourceKind, ResourceStore

__all__ = ["ClassifierService"]

_LIMIT = 1_000


def _load(document: Mapping[str, Any]) -> Classifier:
    times = {name: datetime.fromisoformat(document[name]) for name in ("created", "updated")}
    return Classifier(**{**document, **times})


_KIND = ResourceKind("classifier", _load)


class ClassifierService:
    """Classifiers over a :class:`ResourceStore`; ``now`` is the clock (aware UTC)."""

    def __init__(self, store: ResourceStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def create(self, name: str, classifier_type: ClassifierKind, settings: Mapping[str, Any]) -> None:
        """Add a classifier. Raises ClassifierExists, LimitExceeded, and :class:`InvalidInput` for unusable settings."""
        now = self._now()
        classifier = Classifier(name=name, kind=classifier_type, settings=settings, created=now, updated=now)
        recognizer_of(classifier)
        if not self._store.add(_KIND, classifier, limit=_LIMIT):
            raise ClassifierExists(name)

    def get(self, name: str) -> Classifier:
        """Return one classifier. Raises ClassifierNotFound."""
        classifier = self._store.get(_KIND, "", name)
        if classifier is None:
            raise ClassifierNotFound(name)
        return classifier

    def page(self, *, limit: int, token: str | None = None) -> Page[Classifier]:
        """Return up to ``limit`` classifiers by name."""

        def read(after: str | None, count: int) -> Sequence[Classifier]:
            return self._store.list(_KIND, "", after=after, limit=count)

        return page("classifiers", token, limit, read, lambda classifier: classifier.name, kind=str)

    def update(self, name: str, classifier_type: ClassifierKind, settings: Mapping[str, Any]) -> None:
        """Change the given settings. Raises ClassifierNotFound, and :class:`InvalidInput` for unusable ones."""

        def change(old: Classifier) -> Classifier:
            if old.kind != classifier_type:
                raise InvalidInput(f"Classifier {name} is of the kind {old.kind}.", remedy="Delete it, and create another.")
            changed = replace(old, settings={**old.settings, **settings}, version=old.version + 1, updated=self._now())
            recognizer_of(changed)
            return changed

        if self._store.change(_KIND, "", name, change) is None:
            raise ClassifierNotFound(name)

    def delete(self, name: str) -> None:
        """Remove a classifier; crawlers that name it fail from then on. Raises ClassifierNotFound."""
        if not self._store.delete(_KIND, "", name):
            raise ClassifierNotFound(name)

    def recognizers(self, names: Sequence[str]) -> tuple[Sequence[Recognizer], str]:
        """Return what the named classifiers do, in their order, and a digest of their settings; "" for none.

        Raises ClassifierNotFound.
        """
        classifiers = [self.get(name) for name in names]
        settings = [[classifier.kind, dict(classifier.settings)] for classifier in classifiers]
        digest = hashlib.sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)).hexdigest() if settings else ""
        return [recognizer_of(classifier) for classifier in classifiers], digest
