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
INSERT INTO "api_keys" VALUES('000100010001','first',X'C92DC734EB15A1AAFFA3F799F6F68B500792BF32B24F9D25C3A97E0BA4730BF1','["admin", "configure", "upload", "view"]','[]',1750000000000,'operator',NULL,NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES('9a233e6eff94','left us',X'B972CD87DCBDF597B1A0BE783089C162DFF21FA749FAAFB0933189391DC2F910','["inference"]','["rank*"]',1750000000000,'operator',NULL,1750000001000,5.0,10);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at_ms BIGINT NOT NULL, 
	"by" VARCHAR(64) NOT NULL, 
	action VARCHAR(64) NOT NULL, 
	subject VARCHAR(255) NOT NULL, 
	detail JSON NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1750000000000,'operator','key created','000100010001','{"name": "first", "permissions": ["admin", "configure", "upload", "view"]}');
INSERT INTO "audit" VALUES(2,1750000000000,'operator','key created','9a233e6eff94','{"name": "left us", "permissions": ["inference"]}');
INSERT INTO "audit" VALUES(3,1750000001000,'operator','key revoked','9a233e6eff94','{}');
INSERT INTO "audit" VALUES(4,1750000001000,'operator','version published','ranker@1','{"digest": "e52be77126d0d8c9f6b1978b9af9e27c0dba408f78070687795706c15356d2b4", "size": 77}');
INSERT INTO "audit" VALUES(5,1750000001000,'operator','version published','ranker@2','{"digest": "e52be77126d0d8c9f6b1978b9af9e27c0dba408f78070687795706c15356d2b4", "size": 77}');
INSERT INTO "audit" VALUES(6,1750000001000,'operator','stage changed','ranker@2','{"from": "dev", "to": "production", "reason": "published"}');
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
INSERT INTO "key_usage" VALUES('000100010001',7,1750000001000);
INSERT INTO "key_usage" VALUES('9a233e6eff94',0,0);
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
INSERT INTO "revision" VALUES(1,7);
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
INSERT INTO "signing_keys" VALUES('94b043cfcae40c72',X'240967E357374B853EBF35B714EC78C7C0E1C2B185CE50957A1A64DA41169AA4C8F7B6B3FE183320A9129F2E04183667C10F7EB514C08236B31F7B6E',1750000000000,1752592000000,1752592360000);
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
INSERT INTO "stage_changes" VALUES(1,'ranker',1,NULL,'dev',1750000001000,'operator','published');
INSERT INTO "stage_changes" VALUES(2,'ranker',2,NULL,'dev',1750000001000,'operator','published');
INSERT INTO "stage_changes" VALUES(3,'ranker',2,'dev','production',1750000001000,'operator','published');
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
INSERT INTO "upload_files" VALUES('91eb4b005b5a4524334b35a9e5f353e1','model.onnx',0,77,'dfdc07f464522c3694e2a6e9f3876bafec4b061d532828da02730bf2ca405540',64);
CREATE TABLE upload_parts (
	upload_id VARCHAR(64) NOT NULL, 
	path VARCHAR(255) NOT NULL, 
	"offset" BIGINT NOT NULL, 
	size BIGINT NOT NULL, 
	object_name VARCHAR(255) NOT NULL, 
	CONSTRAINT pk_upload_parts PRIMARY KEY (upload_id, path, "offset"), 
	CONSTRAINT fk_upload_parts_upload_id FOREIGN KEY(upload_id) REFERENCES uploads (upload_id) ON DELETE CASCADE
);
INSERT INTO "upload_parts" VALUES('91eb4b005b5a4524334b35a9e5f353e1','model.onnx',0,64,'parts/91eb4b005b5a4524334b35a9e5f353e1/e7b692405038a6358ee1b1808e6f32ff');
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
INSERT INTO "uploads" VALUES('91eb4b005b5a4524334b35a9e5f353e1','other',1,1750000001000,1750086401000,'operator','{}','',0);
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
INSERT INTO "versions" VALUES('ranker',1,'dev','3f3b38c6704ddb57c80198ce3773b0c5','e52be77126d0d8c9f6b1978b9af9e27c0dba408f78070687795706c15356d2b4','[{"path": "model.onnx", "size": 77, "sha256": "dfdc07f464522c3694e2a6e9f3876bafec4b061d532828da02730bf2ca405540"}]',77,'[{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]','[{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]','{}','','','',1750000001000,'operator');
INSERT INTO "versions" VALUES('ranker',2,'production','d556949156441f80677c1185ddf3fced','e52be77126d0d8c9f6b1978b9af9e27c0dba408f78070687795706c15356d2b4','[{"path": "model.onnx", "size": 77, "sha256": "dfdc07f464522c3694e2a6e9f3876bafec4b061d532828da02730bf2ca405540"}]',77,'[{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]','[{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]','{}','','','',1750000001000,'operator');
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
INSERT INTO "workers" VALUES('w1','127.0.0.1:8001',1750000000000,1750000000000,1,0,'[]','{"zone": "a"}','',0,'{}');
CREATE UNIQUE INDEX ix_versions_one_in_production ON versions (model) WHERE stage = 'production';
CREATE INDEX ix_stage_changes_model_number ON stage_changes (model, number);
COMMIT;
