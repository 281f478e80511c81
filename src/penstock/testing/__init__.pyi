"""What tests share, ours and those of users: real services as child processes on free ports."""

from .certificates import TestAuthority as TestAuthority
from .clients import boto3_client as boto3_client
from .dynamodb import DynamoDBLocal as DynamoDBLocal
from .dynamodb import running_dynamodb as running_dynamodb
from .kinesis import KinesisStandIn as KinesisStandIn
from .kinesis import running_kinesis as running_kinesis
from .kinesis_server import KinesisServer as KinesisServer
from .kinesis_server import running_kinesis_server as running_kinesis_server
from .polling import eventually as eventually
from .postgres import PostgresServer as PostgresServer
from .postgres import running_postgres as running_postgres
from .powerloss import ForgetfulDisk as ForgetfulDisk
from .powerloss import after_power_loss as after_power_loss
from .server import RunningServer as RunningServer
from .server import running_server as running_server
from .server import start_server as start_server
from .stores import STORES as STORES
from .stores import running_store as running_store
from .stores.port import S3Store as S3Store
from .web_tokens import TokenIssuer as TokenIssuer
