-- The tables of Penstock 40c4bebe (revision 0018) in PostgreSQL, as pg_dump writes them.
CREATE TABLE access_keys (
    access_key_id character varying(128) NOT NULL COLLATE pg_catalog."C",
    secret_sealed bytea NOT NULL,
    account character varying(12) NOT NULL COLLATE pg_catalog."C",
    principal character varying(2048) NOT NULL COLLATE pg_catalog."C",
    created timestamp without time zone NOT NULL,
    active integer DEFAULT 1 NOT NULL,
    owner_id character varying(128) DEFAULT ''::character varying NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE accounts (
    id character varying(12) NOT NULL COLLATE pg_catalog."C",
    name character varying(128) NOT NULL COLLATE pg_catalog."C",
    email character varying(254) NOT NULL COLLATE pg_catalog."C",
    created timestamp without time zone NOT NULL
);
CREATE TABLE alembic_version (
    version_num character varying(32) NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE athena_resource (
    kind character varying(32) NOT NULL COLLATE pg_catalog."C",
    scope character varying(128) NOT NULL COLLATE pg_catalog."C",
    key character varying(256) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE audit (
    id bigint NOT NULL,
    "time" bigint NOT NULL,
    principal character varying(2048) NOT NULL COLLATE pg_catalog."C",
    client character varying(255) NOT NULL COLLATE pg_catalog."C",
    operation character varying(64) NOT NULL COLLATE pg_catalog."C",
    resource character varying(2048) NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C"
);
CREATE SEQUENCE audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE audit_id_seq OWNED BY audit.id;
CREATE TABLE catalog_connection (
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    body_sealed bytea NOT NULL
);
CREATE TABLE catalog_database (
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE catalog_database_detail (
    owner character varying(255) NOT NULL COLLATE pg_catalog."C",
    kind character varying(16) NOT NULL COLLATE pg_catalog."C",
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE catalog_partition (
    id bigint NOT NULL,
    table_id bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    shared text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE catalog_partition_detail (
    owner bigint NOT NULL,
    kind character varying(16) NOT NULL COLLATE pg_catalog."C",
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE SEQUENCE catalog_partition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE catalog_partition_id_seq OWNED BY catalog_partition.id;
CREATE TABLE catalog_partition_posting (
    value_id bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE catalog_partition_value (
    id bigint NOT NULL,
    table_id bigint NOT NULL,
    "position" smallint NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    kind character varying(16) NOT NULL COLLATE pg_catalog."C",
    sort text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);
CREATE SEQUENCE catalog_partition_value_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE catalog_partition_value_id_seq OWNED BY catalog_partition_value.id;
CREATE TABLE catalog_table (
    id bigint NOT NULL,
    database character varying(255) NOT NULL COLLATE pg_catalog."C",
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE catalog_table_detail (
    owner bigint NOT NULL,
    kind character varying(16) NOT NULL COLLATE pg_catalog."C",
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE SEQUENCE catalog_table_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE catalog_table_id_seq OWNED BY catalog_table.id;
CREATE TABLE catalog_table_version (
    table_id bigint NOT NULL,
    version integer NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE crawl_crawler (
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    state character varying(16) NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE crawl_file (
    crawler character varying(255) NOT NULL COLLATE pg_catalog."C",
    uri text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    modified bigint NOT NULL,
    rows bigint NOT NULL,
    columns text NOT NULL COLLATE pg_catalog."C",
    problem text COLLATE pg_catalog."C",
    format text COLLATE pg_catalog."C"
);
CREATE TABLE iam_entities (
    kind character varying(8) NOT NULL COLLATE pg_catalog."C",
    account character varying(12) NOT NULL COLLATE pg_catalog."C",
    key character varying(128) NOT NULL COLLATE pg_catalog."C",
    name character varying(128) NOT NULL COLLATE pg_catalog."C",
    id character varying(32) NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE job_entry (
    kind character varying(24) NOT NULL COLLATE pg_catalog."C",
    key character varying(400) NOT NULL COLLATE pg_catalog."C",
    scope character varying(400) NOT NULL COLLATE pg_catalog."C",
    rank character varying(500) NOT NULL COLLATE pg_catalog."C",
    active boolean NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE lakeformation (
    kind character varying(16) NOT NULL COLLATE pg_catalog."C",
    digest character varying(64) NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE policies (
    scope character varying(600) NOT NULL COLLATE pg_catalog."C",
    compatibility character varying(16) COLLATE pg_catalog."C",
    mode character varying(32) COLLATE pg_catalog."C",
    "normalize" integer,
    alias text COLLATE pg_catalog."C",
    validate_fields integer,
    compatibility_policy character varying(16) COLLATE pg_catalog."C",
    compatibility_group text COLLATE pg_catalog."C",
    default_metadata text COLLATE pg_catalog."C",
    override_metadata text COLLATE pg_catalog."C"
);
CREATE TABLE registries (
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    description text COLLATE pg_catalog."C",
    created bigint NOT NULL,
    updated bigint NOT NULL
);
CREATE TABLE registry_epoch (
    id integer NOT NULL,
    number bigint NOT NULL
);
CREATE TABLE registry_tags (
    resource character varying(600) NOT NULL COLLATE pg_catalog."C",
    key character varying(128) NOT NULL COLLATE pg_catalog."C",
    value character varying(256) NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE resource_policies (
    resource character varying(600) NOT NULL COLLATE pg_catalog."C",
    policy text NOT NULL COLLATE pg_catalog."C",
    hash character varying(64) NOT NULL COLLATE pg_catalog."C",
    created bigint NOT NULL,
    updated bigint NOT NULL
);
CREATE TABLE schema_metadata (
    id bigint NOT NULL,
    version_id character varying(36) NOT NULL COLLATE pg_catalog."C",
    key character varying(128) NOT NULL COLLATE pg_catalog."C",
    value character varying(256) NOT NULL COLLATE pg_catalog."C",
    created bigint NOT NULL
);
CREATE SEQUENCE schema_metadata_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE schema_metadata_id_seq OWNED BY schema_metadata.id;
CREATE TABLE schema_references (
    version_id character varying(36) NOT NULL COLLATE pg_catalog."C",
    target_id character varying(36) NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE schema_serials (
    registry character varying(255) NOT NULL COLLATE pg_catalog."C",
    serial bigint NOT NULL,
    data_format character varying(16) NOT NULL COLLATE pg_catalog."C",
    fingerprint character varying(64) NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE schema_versions (
    id character varying(36) NOT NULL COLLATE pg_catalog."C",
    schema_id bigint NOT NULL,
    number integer NOT NULL,
    status character varying(16) NOT NULL COLLATE pg_catalog."C",
    fingerprint character varying(64) NOT NULL COLLATE pg_catalog."C",
    definition text NOT NULL COLLATE pg_catalog."C",
    verdict text COLLATE pg_catalog."C",
    created bigint NOT NULL,
    serial bigint DEFAULT '0'::bigint NOT NULL,
    refers_to text COLLATE pg_catalog."C",
    deleted bigint,
    contract text COLLATE pg_catalog."C"
);
CREATE TABLE schemas (
    id bigint NOT NULL,
    registry character varying(255) NOT NULL COLLATE pg_catalog."C",
    name character varying(255) NOT NULL COLLATE pg_catalog."C",
    data_format character varying(16) NOT NULL COLLATE pg_catalog."C",
    compatibility character varying(16) NOT NULL COLLATE pg_catalog."C",
    description text COLLATE pg_catalog."C",
    checkpoint integer NOT NULL,
    latest integer,
    next_number integer NOT NULL,
    revision integer NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL
);
CREATE SEQUENCE schemas_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE schemas_id_seq OWNED BY schemas.id;
CREATE TABLE secret_versions (
    arn character varying(2048) NOT NULL COLLATE pg_catalog."C",
    version_id character varying(64) NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    stages json NOT NULL,
    created timestamp without time zone NOT NULL,
    is_text integer NOT NULL,
    value_sealed bytea NOT NULL
);
CREATE TABLE secrets (
    arn character varying(2048) NOT NULL COLLATE pg_catalog."C",
    account character varying(12) NOT NULL COLLATE pg_catalog."C",
    name character varying(512) NOT NULL COLLATE pg_catalog."C",
    revision integer NOT NULL,
    description text COLLATE pg_catalog."C",
    kms_key_id character varying(2048) COLLATE pg_catalog."C",
    tags json NOT NULL,
    created timestamp without time zone NOT NULL,
    changed timestamp without time zone NOT NULL,
    accessed timestamp without time zone,
    deletion timestamp without time zone,
    rotation json,
    policy text COLLATE pg_catalog."C"
);
CREATE TABLE serial_counter (
    id integer NOT NULL,
    number bigint NOT NULL
);
CREATE TABLE statements (
    number bigint NOT NULL,
    id character varying(64) NOT NULL COLLATE pg_catalog."C",
    sql text NOT NULL COLLATE pg_catalog."C",
    type character varying(16) NOT NULL COLLATE pg_catalog."C",
    substatement character varying(64) COLLATE pg_catalog."C",
    catalog character varying(256) NOT NULL COLLATE pg_catalog."C",
    database character varying(255) COLLATE pg_catalog."C",
    workgroup character varying(128) NOT NULL COLLATE pg_catalog."C",
    output_location text NOT NULL COLLATE pg_catalog."C",
    result_uri text NOT NULL COLLATE pg_catalog."C",
    parameters text NOT NULL COLLATE pg_catalog."C",
    token character varying(128) COLLATE pg_catalog."C",
    principal text NOT NULL COLLATE pg_catalog."C",
    state character varying(16) NOT NULL COLLATE pg_catalog."C",
    submitted bigint NOT NULL,
    started bigint,
    completed bigint,
    reason text COLLATE pg_catalog."C",
    failure text COLLATE pg_catalog."C",
    statistics text NOT NULL COLLATE pg_catalog."C",
    columns text NOT NULL COLLATE pg_catalog."C",
    owner character varying(255) NOT NULL COLLATE pg_catalog."C",
    heartbeat bigint NOT NULL,
    cancel_requested boolean NOT NULL,
    reuse_minutes integer,
    digest character varying(64) COLLATE pg_catalog."C",
    options text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    managed boolean DEFAULT false NOT NULL,
    engine character varying(64) DEFAULT 'AUTO'::character varying NOT NULL COLLATE pg_catalog."C"
);
CREATE SEQUENCE statements_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE statements_number_seq OWNED BY statements.number;
ALTER TABLE ONLY audit ALTER COLUMN id SET DEFAULT nextval('audit_id_seq'::regclass);
ALTER TABLE ONLY catalog_partition ALTER COLUMN id SET DEFAULT nextval('catalog_partition_id_seq'::regclass);
ALTER TABLE ONLY catalog_partition_value ALTER COLUMN id SET DEFAULT nextval('catalog_partition_value_id_seq'::regclass);
ALTER TABLE ONLY catalog_table ALTER COLUMN id SET DEFAULT nextval('catalog_table_id_seq'::regclass);
ALTER TABLE ONLY schema_metadata ALTER COLUMN id SET DEFAULT nextval('schema_metadata_id_seq'::regclass);
ALTER TABLE ONLY schemas ALTER COLUMN id SET DEFAULT nextval('schemas_id_seq'::regclass);
ALTER TABLE ONLY statements ALTER COLUMN number SET DEFAULT nextval('statements_number_seq'::regclass);
ALTER TABLE ONLY alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY access_keys
    ADD CONSTRAINT pk_access_keys PRIMARY KEY (access_key_id);
ALTER TABLE ONLY accounts
    ADD CONSTRAINT pk_accounts PRIMARY KEY (id);
ALTER TABLE ONLY athena_resource
    ADD CONSTRAINT pk_athena_resource PRIMARY KEY (kind, scope, key);
ALTER TABLE ONLY audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (id);
ALTER TABLE ONLY catalog_connection
    ADD CONSTRAINT pk_catalog_connection PRIMARY KEY (name);
ALTER TABLE ONLY catalog_database
    ADD CONSTRAINT pk_catalog_database PRIMARY KEY (name);
ALTER TABLE ONLY catalog_database_detail
    ADD CONSTRAINT pk_catalog_database_detail PRIMARY KEY (owner, kind, name);
ALTER TABLE ONLY catalog_partition
    ADD CONSTRAINT pk_catalog_partition PRIMARY KEY (id);
ALTER TABLE ONLY catalog_partition_detail
    ADD CONSTRAINT pk_catalog_partition_detail PRIMARY KEY (owner, kind, name);
ALTER TABLE ONLY catalog_partition_posting
    ADD CONSTRAINT pk_catalog_partition_posting PRIMARY KEY (value_id, key);
ALTER TABLE ONLY catalog_partition_value
    ADD CONSTRAINT pk_catalog_partition_value PRIMARY KEY (id);
ALTER TABLE ONLY catalog_table
    ADD CONSTRAINT pk_catalog_table PRIMARY KEY (id);
ALTER TABLE ONLY catalog_table_detail
    ADD CONSTRAINT pk_catalog_table_detail PRIMARY KEY (owner, kind, name);
ALTER TABLE ONLY catalog_table_version
    ADD CONSTRAINT pk_catalog_table_version PRIMARY KEY (table_id, version);
ALTER TABLE ONLY crawl_crawler
    ADD CONSTRAINT pk_crawl_crawler PRIMARY KEY (name);
ALTER TABLE ONLY crawl_file
    ADD CONSTRAINT pk_crawl_file PRIMARY KEY (crawler, uri);
ALTER TABLE ONLY iam_entities
    ADD CONSTRAINT pk_iam_entities PRIMARY KEY (kind, account, key);
ALTER TABLE ONLY job_entry
    ADD CONSTRAINT pk_job_entry PRIMARY KEY (kind, key);
ALTER TABLE ONLY lakeformation
    ADD CONSTRAINT pk_lakeformation PRIMARY KEY (kind, digest);
ALTER TABLE ONLY policies
    ADD CONSTRAINT pk_policies PRIMARY KEY (scope);
ALTER TABLE ONLY registries
    ADD CONSTRAINT pk_registries PRIMARY KEY (name);
ALTER TABLE ONLY registry_epoch
    ADD CONSTRAINT pk_registry_epoch PRIMARY KEY (id);
ALTER TABLE ONLY registry_tags
    ADD CONSTRAINT pk_registry_tags PRIMARY KEY (resource, key);
ALTER TABLE ONLY resource_policies
    ADD CONSTRAINT pk_resource_policies PRIMARY KEY (resource);
ALTER TABLE ONLY schema_metadata
    ADD CONSTRAINT pk_schema_metadata PRIMARY KEY (id);
ALTER TABLE ONLY schema_references
    ADD CONSTRAINT pk_schema_references PRIMARY KEY (version_id, target_id);
ALTER TABLE ONLY schema_serials
    ADD CONSTRAINT pk_schema_serials PRIMARY KEY (registry, serial);
ALTER TABLE ONLY schema_versions
    ADD CONSTRAINT pk_schema_versions PRIMARY KEY (id);
ALTER TABLE ONLY schemas
    ADD CONSTRAINT pk_schemas PRIMARY KEY (id);
ALTER TABLE ONLY secret_versions
    ADD CONSTRAINT pk_secret_versions PRIMARY KEY (arn, version_id);
ALTER TABLE ONLY secrets
    ADD CONSTRAINT pk_secrets PRIMARY KEY (arn);
ALTER TABLE ONLY serial_counter
    ADD CONSTRAINT pk_serial_counter PRIMARY KEY (id);
ALTER TABLE ONLY statements
    ADD CONSTRAINT pk_statements PRIMARY KEY (number);
ALTER TABLE ONLY schema_metadata
    ADD CONSTRAINT uq_schema_metadata_version_id_key_value UNIQUE (version_id, key, value);
ALTER TABLE ONLY schema_serials
    ADD CONSTRAINT uq_schema_serials_registry_data_format_fingerprint UNIQUE (registry, data_format, fingerprint);
ALTER TABLE ONLY schema_versions
    ADD CONSTRAINT uq_schema_versions_schema_id_fingerprint UNIQUE (schema_id, fingerprint);
ALTER TABLE ONLY schema_versions
    ADD CONSTRAINT uq_schema_versions_schema_id_number UNIQUE (schema_id, number);
ALTER TABLE ONLY schemas
    ADD CONSTRAINT uq_schemas_registry_name UNIQUE (registry, name);
ALTER TABLE ONLY secrets
    ADD CONSTRAINT uq_secrets_account_name UNIQUE (account, name);
ALTER TABLE ONLY statements
    ADD CONSTRAINT uq_statements_id UNIQUE (id);
ALTER TABLE ONLY statements
    ADD CONSTRAINT uq_statements_token UNIQUE (token);
CREATE INDEX ix_access_keys_account ON access_keys USING btree (account);
CREATE INDEX ix_athena_resource_key ON athena_resource USING btree (key);
CREATE INDEX ix_athena_resource_scope ON athena_resource USING btree (scope);
CREATE INDEX ix_audit_resource_id ON audit USING btree (resource, id);
CREATE UNIQUE INDEX ix_catalog_partition_table_id_key ON catalog_partition USING btree (table_id, key);
CREATE INDEX ix_catalog_partition_value_sort ON catalog_partition_value USING btree (table_id, "position", kind, sort);
CREATE UNIQUE INDEX ix_catalog_partition_value_value ON catalog_partition_value USING btree (table_id, "position", value);
CREATE UNIQUE INDEX ix_catalog_table_database_name ON catalog_table USING btree (database, name);
CREATE INDEX ix_job_entry_active ON job_entry USING btree (active, kind);
CREATE INDEX ix_job_entry_scope ON job_entry USING btree (kind, scope, rank);
CREATE INDEX ix_schema_references_target_id ON schema_references USING btree (target_id);
CREATE INDEX ix_schema_versions_serial ON schema_versions USING btree (serial);
CREATE INDEX ix_statements_completed ON statements USING btree (completed);
CREATE INDEX ix_statements_digest_number ON statements USING btree (digest, number);
CREATE INDEX ix_statements_state ON statements USING btree (state);
CREATE INDEX ix_statements_workgroup_number ON statements USING btree (workgroup, number);
ALTER TABLE ONLY catalog_database_detail
    ADD CONSTRAINT fk_catalog_database_detail_owner_catalog_database FOREIGN KEY (owner) REFERENCES catalog_database(name) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_partition_detail
    ADD CONSTRAINT fk_catalog_partition_detail_owner_catalog_partition FOREIGN KEY (owner) REFERENCES catalog_partition(id) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_partition_posting
    ADD CONSTRAINT fk_catalog_partition_posting_value_id_catalog_partition_value FOREIGN KEY (value_id) REFERENCES catalog_partition_value(id) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_partition
    ADD CONSTRAINT fk_catalog_partition_table_id FOREIGN KEY (table_id) REFERENCES catalog_table(id) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_partition_value
    ADD CONSTRAINT fk_catalog_partition_value_table_id_catalog_table FOREIGN KEY (table_id) REFERENCES catalog_table(id) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_table
    ADD CONSTRAINT fk_catalog_table_database FOREIGN KEY (database) REFERENCES catalog_database(name) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_table_detail
    ADD CONSTRAINT fk_catalog_table_detail_owner_catalog_table FOREIGN KEY (owner) REFERENCES catalog_table(id) ON DELETE CASCADE;
ALTER TABLE ONLY catalog_table_version
    ADD CONSTRAINT fk_catalog_table_version_table_id FOREIGN KEY (table_id) REFERENCES catalog_table(id) ON DELETE CASCADE;
ALTER TABLE ONLY crawl_file
    ADD CONSTRAINT fk_crawl_file_crawler FOREIGN KEY (crawler) REFERENCES crawl_crawler(name) ON DELETE CASCADE;
ALTER TABLE ONLY schema_metadata
    ADD CONSTRAINT fk_schema_metadata_version_id FOREIGN KEY (version_id) REFERENCES schema_versions(id) ON DELETE CASCADE;
ALTER TABLE ONLY schema_references
    ADD CONSTRAINT fk_schema_references_target_id FOREIGN KEY (target_id) REFERENCES schema_versions(id);
ALTER TABLE ONLY schema_references
    ADD CONSTRAINT fk_schema_references_version_id FOREIGN KEY (version_id) REFERENCES schema_versions(id) ON DELETE CASCADE;
ALTER TABLE ONLY schema_serials
    ADD CONSTRAINT fk_schema_serials_registry FOREIGN KEY (registry) REFERENCES registries(name) ON DELETE CASCADE;
ALTER TABLE ONLY schema_versions
    ADD CONSTRAINT fk_schema_versions_schema_id FOREIGN KEY (schema_id) REFERENCES schemas(id) ON DELETE CASCADE;
ALTER TABLE ONLY schemas
    ADD CONSTRAINT fk_schemas_registry FOREIGN KEY (registry) REFERENCES registries(name) ON DELETE CASCADE;
ALTER TABLE ONLY secret_versions
    ADD CONSTRAINT fk_secret_versions_arn FOREIGN KEY (arn) REFERENCES secrets(arn) ON DELETE CASCADE;
