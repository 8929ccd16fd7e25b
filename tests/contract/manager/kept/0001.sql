BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE api_keys (
	key_id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	digest BLOB NOT NULL, 
	permissions JSON NOT NULL, 
	models JSON NOT NULL, 
	created_ms BIGINT NOT NULL, 
	created_by VARCHAR(64) NOT NULL, 
	expires_ms BIGINT, 
	revoked_ms BIGINT, 
	per_second FLOAT, 
	burst BIGINT, 
	CONSTRAINT pk_api_keys PRIMARY KEY (key_id)
);
INSERT INTO "api_keys" VALUES('000100010001','first',X'C92DC734EB15A1AAFFA3F799F6F68B500792BF32B24F9D25C3A97E0BA4730BF1','["admin", "upload"]','[]',1800000000000,'operator',NULL,NULL,NULL,NULL);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at_ms BIGINT NOT NULL, 
	"by" VARCHAR(64) NOT NULL, 
	action VARCHAR(64) NOT NULL, 
	subject VARCHAR(255) NOT NULL, 
	detail JSON NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1800000000000,'operator','key created','000100010001','{"name": "first", "permissions": ["admin", "upload"]}');
INSERT INTO "audit" VALUES(2,1800000000000,'operator','version published','ranker@1','{"digest": "a47903cbbd97bf9eeaf7ca93b37e66ac707a8e40f461e81e09a32d9766aa5f74", "size": 7}');
INSERT INTO "audit" VALUES(3,1800000000000,'operator','version published','ranker@2','{"digest": "a47903cbbd97bf9eeaf7ca93b37e66ac707a8e40f461e81e09a32d9766aa5f74", "size": 7}');
INSERT INTO "audit" VALUES(4,1800000000000,'operator','stage changed','ranker@2','{"from": "dev", "to": "production", "reason": "published"}');
CREATE TABLE duties (
	name VARCHAR(64) NOT NULL, 
	holder VARCHAR(128) NOT NULL, 
	until_ms BIGINT NOT NULL, 
	term BIGINT NOT NULL, 
	CONSTRAINT pk_duties PRIMARY KEY (name)
);
CREATE TABLE facts (
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_facts PRIMARY KEY (name)
);
INSERT INTO "facts" VALUES('secret fingerprint','48a16e505feb09641a53d91c89320a44f1e4a3f63f4c534c43ab49d1ccbe83bf');
CREATE TABLE key_usage (
	key_id VARCHAR(32) NOT NULL, 
	requests BIGINT NOT NULL, 
	last_used_ms BIGINT NOT NULL, 
	CONSTRAINT pk_key_usage PRIMARY KEY (key_id), 
	CONSTRAINT fk_key_usage_key_id FOREIGN KEY(key_id) REFERENCES api_keys (key_id)
);
INSERT INTO "key_usage" VALUES('000100010001',0,0);
CREATE TABLE models (
	name VARCHAR(128) NOT NULL, 
	last_number BIGINT NOT NULL, 
	CONSTRAINT pk_models PRIMARY KEY (name)
);
INSERT INTO "models" VALUES('ranker',2);
CREATE TABLE revision (
	one INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	CONSTRAINT pk_revision PRIMARY KEY (one)
);
INSERT INTO "revision" VALUES(1,4);
CREATE TABLE revoked_tokens (
	token_id VARCHAR(64) NOT NULL, 
	until_ms BIGINT NOT NULL, 
	CONSTRAINT pk_revoked_tokens PRIMARY KEY (token_id)
);
CREATE TABLE signing_keys (
	kid VARCHAR(64) NOT NULL, 
	sealed BLOB NOT NULL, 
	signs_from_ms BIGINT NOT NULL, 
	signs_until_ms BIGINT NOT NULL, 
	verifies_until_ms BIGINT NOT NULL, 
	CONSTRAINT pk_signing_keys PRIMARY KEY (kid)
);
INSERT INTO "signing_keys" VALUES('39baae571529637c',X'96CBA191BCB3180432E11BAA915FEDF76A7C94CCD7E052CD12D4351DED1A8EA0AC40C5FC23B2C62924838C4370F027AB9C373ECA989CCA2AD0D992D8',1800000000000,1802592000000,1802592360000);
CREATE TABLE stage_changes (
	id INTEGER NOT NULL, 
	model VARCHAR(128) NOT NULL, 
	number BIGINT NOT NULL, 
	from_stage VARCHAR(16), 
	to_stage VARCHAR(16) NOT NULL, 
	at_ms BIGINT NOT NULL, 
	"by" VARCHAR(64) NOT NULL, 
	reason TEXT NOT NULL, 
	CONSTRAINT pk_stage_changes PRIMARY KEY (id), 
	CONSTRAINT fk_stage_changes_model_number FOREIGN KEY(model, number) REFERENCES versions (model, number) ON DELETE CASCADE
);
INSERT INTO "stage_changes" VALUES(1,'ranker',1,NULL,'dev',1800000000000,'operator','published');
INSERT INTO "stage_changes" VALUES(2,'ranker',2,NULL,'dev',1800000000000,'operator','published');
INSERT INTO "stage_changes" VALUES(3,'ranker',2,'dev','production',1800000000000,'operator','published');
CREATE TABLE traffic (
	model VARCHAR(128) NOT NULL, 
	number BIGINT NOT NULL, 
	percent FLOAT NOT NULL, 
	CONSTRAINT pk_traffic PRIMARY KEY (model, number), 
	CONSTRAINT fk_traffic_model_number FOREIGN KEY(model, number) REFERENCES versions (model, number) ON DELETE CASCADE
);
CREATE TABLE upload_files (
	upload_id VARCHAR(64) NOT NULL, 
	path VARCHAR(255) NOT NULL, 
	place INTEGER NOT NULL, 
	size BIGINT NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	received BIGINT NOT NULL, 
	CONSTRAINT pk_upload_files PRIMARY KEY (upload_id, path), 
	CONSTRAINT fk_upload_files_upload_id FOREIGN KEY(upload_id) REFERENCES uploads (upload_id) ON DELETE CASCADE
);
INSERT INTO "upload_files" VALUES('37f789c436b39c0fc217d87e5b635ba1','model.onnx',0,7,'97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c',7);
CREATE TABLE upload_parts (
	upload_id VARCHAR(64) NOT NULL, 
	path VARCHAR(255) NOT NULL, 
	"offset" BIGINT NOT NULL, 
	size BIGINT NOT NULL, 
	object_name VARCHAR(255) NOT NULL, 
	CONSTRAINT pk_upload_parts PRIMARY KEY (upload_id, path, "offset"), 
	CONSTRAINT fk_upload_parts_upload_id FOREIGN KEY(upload_id) REFERENCES uploads (upload_id) ON DELETE CASCADE
);
INSERT INTO "upload_parts" VALUES('37f789c436b39c0fc217d87e5b635ba1','model.onnx',0,4,'parts/37f789c436b39c0fc217d87e5b635ba1/c5f784457d9ec94913e9c42aa37d895a');
INSERT INTO "upload_parts" VALUES('37f789c436b39c0fc217d87e5b635ba1','model.onnx',4,3,'parts/37f789c436b39c0fc217d87e5b635ba1/fd2076f3fc7bdab0c64d92f159416603');
CREATE TABLE uploads (
	upload_id VARCHAR(64) NOT NULL, 
	model VARCHAR(128) NOT NULL, 
	number BIGINT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	expires_ms BIGINT NOT NULL, 
	created_by VARCHAR(64) NOT NULL, 
	options JSON NOT NULL, 
	description TEXT NOT NULL, 
	claimed_until_ms BIGINT NOT NULL, 
	CONSTRAINT pk_uploads PRIMARY KEY (upload_id), 
	CONSTRAINT uq_uploads_model_number UNIQUE (model, number)
);
INSERT INTO "uploads" VALUES('37f789c436b39c0fc217d87e5b635ba1','other',1,1800000000000,1800086400000,'operator','{}','',0);
CREATE TABLE versions (
	model VARCHAR(128) NOT NULL, 
	number BIGINT NOT NULL, 
	stage VARCHAR(16) NOT NULL, 
	folder VARCHAR(64) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	files JSON NOT NULL, 
	size BIGINT NOT NULL, 
	inputs JSON NOT NULL, 
	outputs JSON NOT NULL, 
	options JSON NOT NULL, 
	description TEXT NOT NULL, 
	note TEXT NOT NULL, 
	problem TEXT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	created_by VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_versions PRIMARY KEY (model, number), 
	CONSTRAINT fk_versions_model FOREIGN KEY(model) REFERENCES models (name), 
	CONSTRAINT uq_versions_folder UNIQUE (folder)
);
INSERT INTO "versions" VALUES('ranker',1,'dev','ebc324decaf923bc5545a8fe34d24fa4','a47903cbbd97bf9eeaf7ca93b37e66ac707a8e40f461e81e09a32d9766aa5f74','[{"path": "model.onnx", "size": 7, "sha256": "97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c"}]',7,'[{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]','[{"name": "y", "datatype": "FP32", "shape": [-1]}]','{}','','','',1800000000000,'operator');
INSERT INTO "versions" VALUES('ranker',2,'production','affccdee8beb8cad4fcb9210a98ecde4','a47903cbbd97bf9eeaf7ca93b37e66ac707a8e40f461e81e09a32d9766aa5f74','[{"path": "model.onnx", "size": 7, "sha256": "97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c"}]',7,'[{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]','[{"name": "y", "datatype": "FP32", "shape": [-1]}]','{}','','','',1800000000000,'operator');
CREATE TABLE workers (
	worker_id VARCHAR(128) NOT NULL, 
	address VARCHAR(255) NOT NULL, 
	registered_ms BIGINT NOT NULL, 
	last_seen_ms BIGINT NOT NULL, 
	slots BIGINT NOT NULL, 
	memory_budget_bytes BIGINT NOT NULL, 
	devices JSON NOT NULL, 
	labels JSON NOT NULL, 
	software_version VARCHAR(64) NOT NULL, 
	draining BOOLEAN NOT NULL, 
	report JSON NOT NULL, 
	CONSTRAINT pk_workers PRIMARY KEY (worker_id)
);
CREATE UNIQUE INDEX ix_versions_one_in_production ON versions (model) WHERE stage = 'production';
CREATE INDEX ix_stage_changes_model_number ON stage_changes (model, number);
COMMIT;
