"""Cached clients of the registry, the catalog and the secrets over boto3; against AWS itself where no endpoint is set."""

from .broker import BrokerSettings as BrokerSettings
from .broker import broker_problem as broker_problem
from .catalog import CatalogClient as CatalogClient
from .check import CheckedDefinition as CheckedDefinition
from .check import check_definition as check_definition
from .confluent import ConfluentClient as ConfluentClient
from .confluent_import import ConfluentImport as ConfluentImport
from .confluent_import import Difference as Difference
from .confluent_import import ImportReport as ImportReport
from .connections import GlueConnection as GlueConnection
from .connections import glue_connection as glue_connection
from .default_session import default_session as default_session
from .registry import (
    LatestVersions as LatestVersions,
)
from .registry import (
    RegisteredSchema as RegisteredSchema,
)
from .registry import (
    RegistryClient as RegistryClient,
)
from .registry import (
    UnknownSchemaVersion as UnknownSchemaVersion,
)
from .secrets import BrokerCredentials as BrokerCredentials
from .secrets import broker_credentials as broker_credentials
