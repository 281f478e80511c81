-- The tables of Penstock 40c4bebe (revision 0018) in SQLite, as its migrations made them.
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE access_keys (
    access_key_id VARCHAR(128) NOT NULL,
    secret_sealed BLOB NOT NULL,
    account VARCHAR(12) NOT NULL,
    principal VARCHAR(2048) NOT NULL,
    created DATETIME NOT NULL, active INTEGER DEFAULT '1' NOT NULL, owner_id VARCHAR(128) DEFAULT '' NOT NULL,
    CONSTRAINT pk_access_keys PRIMARY KEY (access_key_id)
);
CREATE INDEX ix_access_keys_account ON access_keys (account);
CREATE TABLE catalog_database (
    name VARCHAR(255) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_database PRIMARY KEY (name)
);
CREATE TABLE crawl_crawler (
    name VARCHAR(255) NOT NULL,
    state VARCHAR(16) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_crawl_crawler PRIMARY KEY (name)
);
CREATE TABLE registries (
    name VARCHAR(255) NOT NULL,
    description TEXT,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CONSTRAINT pk_registries PRIMARY KEY (name)
);
CREATE TABLE registry_epoch (
    id INTEGER NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_registry_epoch PRIMARY KEY (id)
);
CREATE TABLE registry_tags (
    resource VARCHAR(600) NOT NULL,
    "key" VARCHAR(128) NOT NULL,
    value VARCHAR(256) NOT NULL,
    CONSTRAINT pk_registry_tags PRIMARY KEY (resource, "key")
);
CREATE TABLE secrets (
    arn VARCHAR(2048) NOT NULL,
    account VARCHAR(12) NOT NULL,
    name VARCHAR(512) NOT NULL,
    revision INTEGER NOT NULL,
    description TEXT,
    kms_key_id VARCHAR(2048),
    tags JSON NOT NULL,
    created DATETIME NOT NULL,
    changed DATETIME NOT NULL,
    accessed DATETIME,
    deletion DATETIME, rotation JSON, policy TEXT,
    CONSTRAINT pk_secrets PRIMARY KEY (arn),
    CONSTRAINT uq_secrets_account_name UNIQUE (account, name)
);
CREATE TABLE statements (
    number INTEGER NOT NULL,
    id VARCHAR(64) NOT NULL,
    sql TEXT NOT NULL,
    type VARCHAR(16) NOT NULL,
    substatement VARCHAR(64),
    catalog VARCHAR(256) NOT NULL,
    "database" VARCHAR(255),
    workgroup VARCHAR(128) NOT NULL,
    output_location TEXT NOT NULL,
    result_uri TEXT NOT NULL,
    parameters TEXT NOT NULL,
    token VARCHAR(128),
    principal TEXT NOT NULL,
    state VARCHAR(16) NOT NULL,
    submitted BIGINT NOT NULL,
    started BIGINT,
    completed BIGINT,
    reason TEXT,
    failure TEXT,
    statistics TEXT NOT NULL,
    columns TEXT NOT NULL,
    owner VARCHAR(255) NOT NULL,
    heartbeat BIGINT NOT NULL,
    cancel_requested BOOLEAN NOT NULL, reuse_minutes INTEGER, digest VARCHAR(64), options TEXT DEFAULT '{}' NOT NULL, managed BOOLEAN DEFAULT 0 NOT NULL, engine VARCHAR(64) DEFAULT 'AUTO' NOT NULL,
    CONSTRAINT pk_statements PRIMARY KEY (number),
    CONSTRAINT uq_statements_id UNIQUE (id),
    CONSTRAINT uq_statements_token UNIQUE (token)
);
CREATE INDEX ix_statements_state ON statements (state);
CREATE INDEX ix_statements_workgroup_number ON statements (workgroup, number);
CREATE TABLE catalog_table (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "database" VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT fk_catalog_table_database FOREIGN KEY("database") REFERENCES catalog_database (name) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ix_catalog_table_database_name ON catalog_table ("database", name);
CREATE TABLE crawl_file (
    crawler VARCHAR(255) NOT NULL,
    uri TEXT NOT NULL,
    size BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    columns TEXT NOT NULL,
    problem TEXT, format TEXT,
    CONSTRAINT pk_crawl_file PRIMARY KEY (crawler, uri),
    CONSTRAINT fk_crawl_file_crawler FOREIGN KEY(crawler) REFERENCES crawl_crawler (name) ON DELETE CASCADE
);
CREATE TABLE schemas (
    id INTEGER NOT NULL,
    registry VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    data_format VARCHAR(16) NOT NULL,
    compatibility VARCHAR(16) NOT NULL,
    description TEXT,
    checkpoint INTEGER NOT NULL,
    latest INTEGER,
    next_number INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CONSTRAINT pk_schemas PRIMARY KEY (id),
    CONSTRAINT fk_schemas_registry FOREIGN KEY(registry) REFERENCES registries (name) ON DELETE CASCADE,
    CONSTRAINT uq_schemas_registry_name UNIQUE (registry, name)
);
CREATE TABLE secret_versions (
    arn VARCHAR(2048) NOT NULL,
    version_id VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    stages JSON NOT NULL,
    created DATETIME NOT NULL,
    is_text INTEGER NOT NULL,
    value_sealed BLOB NOT NULL,
    CONSTRAINT pk_secret_versions PRIMARY KEY (arn, version_id),
    CONSTRAINT fk_secret_versions_arn FOREIGN KEY(arn) REFERENCES secrets (arn) ON DELETE CASCADE
);
CREATE TABLE catalog_partition (
    id INTEGER NOT NULL,
    table_id INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    shared TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_partition PRIMARY KEY (id),
    CONSTRAINT fk_catalog_partition_table_id FOREIGN KEY(table_id) REFERENCES catalog_table (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ix_catalog_partition_table_id_key ON catalog_partition (table_id, "key");
CREATE TABLE catalog_table_version (
    table_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_table_version PRIMARY KEY (table_id, version),
    CONSTRAINT fk_catalog_table_version_table_id FOREIGN KEY(table_id) REFERENCES catalog_table (id) ON DELETE CASCADE
);
CREATE TABLE schema_versions (
    id VARCHAR(36) NOT NULL,
    schema_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL,
    fingerprint VARCHAR(64) NOT NULL,
    definition TEXT NOT NULL,
    verdict TEXT,
    created BIGINT NOT NULL, serial BIGINT DEFAULT '0' NOT NULL, refers_to TEXT, deleted BIGINT, contract TEXT,
    CONSTRAINT pk_schema_versions PRIMARY KEY (id),
    CONSTRAINT fk_schema_versions_schema_id FOREIGN KEY(schema_id) REFERENCES schemas (id) ON DELETE CASCADE,
    CONSTRAINT uq_schema_versions_schema_id_fingerprint UNIQUE (schema_id, fingerprint),
    CONSTRAINT uq_schema_versions_schema_id_number UNIQUE (schema_id, number)
);
CREATE TABLE schema_metadata (
    id INTEGER NOT NULL,
    version_id VARCHAR(36) NOT NULL,
    "key" VARCHAR(128) NOT NULL,
    value VARCHAR(256) NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT pk_schema_metadata PRIMARY KEY (id),
    CONSTRAINT fk_schema_metadata_version_id FOREIGN KEY(version_id) REFERENCES schema_versions (id) ON DELETE CASCADE,
    CONSTRAINT uq_schema_metadata_version_id_key_value UNIQUE (version_id, "key", value)
);
CREATE TABLE schema_serials (
    registry VARCHAR(255) NOT NULL,
    serial BIGINT NOT NULL,
    data_format VARCHAR(16) NOT NULL,
    fingerprint VARCHAR(64) NOT NULL,
    CONSTRAINT pk_schema_serials PRIMARY KEY (registry, serial),
    CONSTRAINT fk_schema_serials_registry FOREIGN KEY(registry) REFERENCES registries (name) ON DELETE CASCADE,
    CONSTRAINT uq_schema_serials_registry_data_format_fingerprint UNIQUE (registry, data_format, fingerprint)
);
CREATE TABLE serial_counter (
    id INTEGER NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_serial_counter PRIMARY KEY (id)
);
CREATE TABLE policies (
    scope VARCHAR(600) NOT NULL,
    compatibility VARCHAR(16),
    mode VARCHAR(32),
    normalize INTEGER, alias TEXT, validate_fields INTEGER, compatibility_policy VARCHAR(16), compatibility_group TEXT, default_metadata TEXT, override_metadata TEXT,
    CONSTRAINT pk_policies PRIMARY KEY (scope)
);
CREATE TABLE resource_policies (
    resource VARCHAR(600) NOT NULL,
    policy TEXT NOT NULL,
    hash VARCHAR(64) NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    CONSTRAINT pk_resource_policies PRIMARY KEY (resource)
);
CREATE TABLE audit (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    time BIGINT NOT NULL,
    principal VARCHAR(2048) NOT NULL,
    client VARCHAR(255) NOT NULL,
    operation VARCHAR(64) NOT NULL,
    resource VARCHAR(2048) NOT NULL,
    outcome TEXT NOT NULL
);
CREATE INDEX ix_audit_resource_id ON audit (resource, id);
CREATE TABLE schema_references (
    version_id VARCHAR(36) NOT NULL,
    target_id VARCHAR(36) NOT NULL,
    CONSTRAINT pk_schema_references PRIMARY KEY (version_id, target_id),
    CONSTRAINT fk_schema_references_target_id FOREIGN KEY(target_id) REFERENCES schema_versions (id),
    CONSTRAINT fk_schema_references_version_id FOREIGN KEY(version_id) REFERENCES schema_versions (id) ON DELETE CASCADE
);
CREATE INDEX ix_schema_references_target_id ON schema_references (target_id);
CREATE INDEX ix_schema_versions_serial ON schema_versions (serial);
CREATE TABLE accounts (
    id VARCHAR(12) NOT NULL,
    name VARCHAR(128) NOT NULL,
    email VARCHAR(254) NOT NULL,
    created DATETIME NOT NULL,
    CONSTRAINT pk_accounts PRIMARY KEY (id)
);
CREATE TABLE iam_entities (
    kind VARCHAR(8) NOT NULL,
    account VARCHAR(12) NOT NULL,
    "key" VARCHAR(128) NOT NULL,
    name VARCHAR(128) NOT NULL,
    id VARCHAR(32) NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT pk_iam_entities PRIMARY KEY (kind, account, "key")
);
CREATE TABLE catalog_connection (
    name VARCHAR(255) NOT NULL,
    body_sealed BLOB NOT NULL,
    CONSTRAINT pk_catalog_connection PRIMARY KEY (name)
);
CREATE TABLE catalog_database_detail (
    owner VARCHAR(255) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    name VARCHAR(255) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_database_detail PRIMARY KEY (owner, kind, name),
    CONSTRAINT fk_catalog_database_detail_owner_catalog_database FOREIGN KEY(owner) REFERENCES catalog_database (name) ON DELETE CASCADE
);
CREATE TABLE catalog_table_detail (
    owner INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    name VARCHAR(255) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_table_detail PRIMARY KEY (owner, kind, name),
    CONSTRAINT fk_catalog_table_detail_owner_catalog_table FOREIGN KEY(owner) REFERENCES catalog_table (id) ON DELETE CASCADE
);
CREATE TABLE catalog_partition_detail (
    owner INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    name VARCHAR(255) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_catalog_partition_detail PRIMARY KEY (owner, kind, name),
    CONSTRAINT fk_catalog_partition_detail_owner_catalog_partition FOREIGN KEY(owner) REFERENCES catalog_partition (id) ON DELETE CASCADE
);
CREATE INDEX ix_statements_digest_number ON statements (digest, number);
CREATE TABLE athena_resource (
    kind VARCHAR(32) NOT NULL,
    scope VARCHAR(128) NOT NULL,
    "key" VARCHAR(256) NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_athena_resource PRIMARY KEY (kind, scope, "key")
);
CREATE INDEX ix_statements_completed ON statements (completed);
CREATE INDEX ix_athena_resource_scope ON athena_resource (scope);
CREATE INDEX ix_athena_resource_key ON athena_resource ("key");
CREATE TABLE catalog_partition_value (
    id INTEGER NOT NULL,
    table_id INTEGER NOT NULL,
    position SMALLINT NOT NULL,
    value TEXT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    sort TEXT NOT NULL,
    count BIGINT NOT NULL,
    CONSTRAINT pk_catalog_partition_value PRIMARY KEY (id),
    CONSTRAINT fk_catalog_partition_value_table_id_catalog_table FOREIGN KEY(table_id) REFERENCES catalog_table (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ix_catalog_partition_value_value ON catalog_partition_value (table_id, position, value);
CREATE INDEX ix_catalog_partition_value_sort ON catalog_partition_value (table_id, position, kind, sort);
CREATE TABLE catalog_partition_posting (
    value_id INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    CONSTRAINT pk_catalog_partition_posting PRIMARY KEY (value_id, "key"),
    CONSTRAINT fk_catalog_partition_posting_value_id_catalog_partition_value FOREIGN KEY(value_id) REFERENCES catalog_partition_value (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE TABLE lakeformation (
    kind VARCHAR(16) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    "key" TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_lakeformation PRIMARY KEY (kind, digest)
);
CREATE TABLE job_entry (
    kind VARCHAR(24) NOT NULL,
    "key" VARCHAR(400) NOT NULL,
    scope VARCHAR(400) NOT NULL,
    rank VARCHAR(500) NOT NULL,
    active BOOLEAN NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_job_entry PRIMARY KEY (kind, "key")
);
CREATE INDEX ix_job_entry_scope ON job_entry (kind, scope, rank);
CREATE INDEX ix_job_entry_active ON job_entry (active, kind);
