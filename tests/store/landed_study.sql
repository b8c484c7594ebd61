BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE assessors (
	id INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	english INTEGER, 
	administrator BOOLEAN NOT NULL, 
	paused BOOLEAN NOT NULL, 
	session INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	active_at DATETIME NOT NULL, 
	consented_at DATETIME, 
	deleted_at DATETIME, 
	CONSTRAINT pk_assessors PRIMARY KEY (id), 
	CONSTRAINT uq_assessors_name UNIQUE (name)
);
INSERT INTO "assessors" VALUES(1,'d95k7q22sr',NULL,0,0,0,'2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000',NULL);
INSERT INTO "assessors" VALUES(2,'3hbrszzpsd',NULL,0,0,0,'2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000',NULL);
CREATE TABLE assignments (
	id INTEGER NOT NULL, 
	assessor_id INTEGER NOT NULL, 
	query_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	round INTEGER NOT NULL, 
	"set" INTEGER NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	assigned_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	CONSTRAINT pk_assignments PRIMARY KEY (id), 
	CONSTRAINT uq_assignments_assessor_id_query_id UNIQUE (assessor_id, query_id), 
	CONSTRAINT uq_assignments_assessor_id_position UNIQUE (assessor_id, position), 
	CONSTRAINT ck_assignments_state CHECK (state IN ('open', 'done', 'released')), 
	CONSTRAINT fk_assignments_assessor_id FOREIGN KEY(assessor_id) REFERENCES assessors (id), 
	CONSTRAINT fk_assignments_query_id FOREIGN KEY(query_id) REFERENCES queries (id)
);
INSERT INTO "assignments" VALUES(1,1,1,1,1,1,'done','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000');
INSERT INTO "assignments" VALUES(2,1,2,2,1,1,'done','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000');
INSERT INTO "assignments" VALUES(3,2,2,1,1,1,'done','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000');
INSERT INTO "assignments" VALUES(4,2,1,2,1,1,'done','2026-03-01 12:00:00.000000','2026-03-01 12:00:00.000000');
CREATE TABLE attempts (
	id INTEGER NOT NULL, 
	key_hash VARCHAR(64) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_attempts PRIMARY KEY (id)
);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	assessor VARCHAR(32), 
	details JSON NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1,'2026-03-01 12:00:00.000000','invited',NULL,'{"places": 2, "administrator": false}');
CREATE TABLE grades (
	id INTEGER NOT NULL, 
	assignment_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	grade INTEGER, 
	milliseconds INTEGER, 
	given_at DATETIME NOT NULL, 
	undone_at DATETIME, 
	CONSTRAINT pk_grades PRIMARY KEY (id), 
	CONSTRAINT fk_grades_assignment_id_position FOREIGN KEY(assignment_id, position) REFERENCES presentations (assignment_id, position) ON DELETE CASCADE
);
INSERT INTO "grades" VALUES(1,1,1,1,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(2,1,2,1,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(3,2,1,1,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(4,2,2,1,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(5,3,1,5,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(6,3,2,5,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(7,4,1,5,0,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "grades" VALUES(8,4,2,5,0,'2026-03-01 12:00:00.000000',NULL);
CREATE TABLE invitations (
	id INTEGER NOT NULL, 
	code_hash VARCHAR(64) NOT NULL, 
	places INTEGER NOT NULL, 
	taken INTEGER NOT NULL, 
	administrator BOOLEAN NOT NULL, 
	assessor_id INTEGER, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME, 
	withdrawn_at DATETIME, 
	CONSTRAINT pk_invitations PRIMARY KEY (id), 
	CONSTRAINT uq_invitations_code_hash UNIQUE (code_hash), 
	CONSTRAINT fk_invitations_assessor_id FOREIGN KEY(assessor_id) REFERENCES assessors (id)
);
INSERT INTO "invitations" VALUES(1,'828ac608627ec24bc24985255b86774cd533c63897736c0b9f2d799184e3cbcf',2,2,0,NULL,'2026-03-01 12:00:00.000000','2026-03-31 12:00:00.000000',NULL);
INSERT INTO "invitations" VALUES(2,'598540339b2d7f78b532a95316df24afc7d855ede323e72b3d86ec3043c2630d',1,0,0,1,'2026-03-01 12:00:00.000000',NULL,NULL);
INSERT INTO "invitations" VALUES(3,'38b6d3b2727aa06ab1366c91b68311dcd8071e816a2c07087f128b77ec453adc',1,0,0,2,'2026-03-01 12:00:00.000000',NULL,NULL);
CREATE TABLE passages (
	id INTEGER NOT NULL, 
	docno TEXT NOT NULL, 
	fields JSON NOT NULL, 
	CONSTRAINT pk_passages PRIMARY KEY (id), 
	CONSTRAINT uq_passages_docno UNIQUE (docno)
);
INSERT INTO "passages" VALUES(1,'d1','{"text": "text of d1"}');
INSERT INTO "passages" VALUES(2,'d2','{"text": "text of d2"}');
CREATE TABLE people (
	email VARCHAR(320) NOT NULL, 
	assessor_id INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_people PRIMARY KEY (email), 
	CONSTRAINT uq_people_assessor_id UNIQUE (assessor_id), 
	CONSTRAINT fk_people_assessor_id FOREIGN KEY(assessor_id) REFERENCES assessors (id)
);
CREATE TABLE pool (
	query_id INTEGER NOT NULL, 
	passage_id INTEGER NOT NULL, 
	rank INTEGER, 
	original INTEGER, 
	CONSTRAINT pk_pool PRIMARY KEY (query_id, passage_id), 
	CONSTRAINT fk_pool_query_id FOREIGN KEY(query_id) REFERENCES queries (id), 
	CONSTRAINT fk_pool_passage_id FOREIGN KEY(passage_id) REFERENCES passages (id)
);
INSERT INTO "pool" VALUES(1,1,1,NULL);
INSERT INTO "pool" VALUES(1,2,2,NULL);
INSERT INTO "pool" VALUES(2,1,1,NULL);
INSERT INTO "pool" VALUES(2,2,2,NULL);
CREATE TABLE presentations (
	assignment_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	passage_id INTEGER NOT NULL, 
	shown_at DATETIME, 
	note TEXT, 
	CONSTRAINT pk_presentations PRIMARY KEY (assignment_id, position), 
	CONSTRAINT uq_presentations_assignment_id_passage_id UNIQUE (assignment_id, passage_id), 
	CONSTRAINT fk_presentations_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignments (id) ON DELETE CASCADE, 
	CONSTRAINT fk_presentations_passage_id FOREIGN KEY(passage_id) REFERENCES passages (id)
);
INSERT INTO "presentations" VALUES(1,1,2,'2026-03-01 12:00:00.000000','a note');
INSERT INTO "presentations" VALUES(1,2,1,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "presentations" VALUES(2,1,1,'2026-03-01 12:00:00.000000','a note');
INSERT INTO "presentations" VALUES(2,2,2,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "presentations" VALUES(3,1,1,'2026-03-01 12:00:00.000000','a note');
INSERT INTO "presentations" VALUES(3,2,2,'2026-03-01 12:00:00.000000',NULL);
INSERT INTO "presentations" VALUES(4,1,1,'2026-03-01 12:00:00.000000','a note');
INSERT INTO "presentations" VALUES(4,2,2,'2026-03-01 12:00:00.000000',NULL);
CREATE TABLE queries (
	id INTEGER NOT NULL, 
	qid TEXT NOT NULL, 
	text TEXT NOT NULL, 
	stratum TEXT, 
	CONSTRAINT pk_queries PRIMARY KEY (id), 
	CONSTRAINT uq_queries_qid UNIQUE (qid)
);
INSERT INTO "queries" VALUES(1,'q1','question 1',NULL);
INSERT INTO "queries" VALUES(2,'q2','question 2',NULL);
CREATE TABLE sign_in_links (
	id INTEGER NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	email VARCHAR(320) NOT NULL, 
	invitation_id INTEGER, 
	expires_at DATETIME NOT NULL, 
	CONSTRAINT pk_sign_in_links PRIMARY KEY (id), 
	CONSTRAINT uq_sign_in_links_token_hash UNIQUE (token_hash), 
	CONSTRAINT fk_sign_in_links_invitation_id FOREIGN KEY(invitation_id) REFERENCES invitations (id)
);
CREATE TABLE study (
	id INTEGER NOT NULL, 
	settings JSON NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_study PRIMARY KEY (id), 
	CONSTRAINT ck_study_one_study CHECK (id = 1)
);
INSERT INTO "study" VALUES(1,'{"title": "A study", "scale": [[1, "totally irrelevant", "The passage has nothing to do with the query."], [2, "slightly relevant", "The passage touches on the topic, but does not answer the query."], [3, "relevant", "The passage answers a part of the query."], [4, "very relevant", "The passage answers the query, with gaps or beside other matters."], [5, "perfectly relevant", "The passage answers the query in full."]], "guidelines": "Read the query, then each passage on its own: what an earlier passage said does not count for or against this one.\n\nJudge what the passage says about the query, not how well it is written. Choose \"I can''t tell\" where you do not\nunderstand the query or the passage.\n", "consent": "Your grades, your notes, the time you take for a passage and the level of English you state are stored under a random\nname and used for research. If you sign in by e-mail, your address is kept apart from your grades and never published.\nYou can stop at any moment and have your data deleted.\n", "assessors_per_query": 2, "set_size": 3, "sets_at_once": 2, "exploration": 0.5, "release_after_days": 14, "mark_terms": false, "ask_english": true, "open_to_all": false, "keep_grades": true}','2026-11-18 10:47:03.588616');
CREATE INDEX ix_attempts_key_hash_at ON attempts (key_hash, at);
CREATE INDEX ix_attempts_at ON attempts (at);
CREATE INDEX ix_pool_passage_id ON pool (passage_id);
CREATE INDEX ix_invitations_assessor_id ON invitations (assessor_id);
CREATE INDEX ix_assignments_query_id ON assignments (query_id);
CREATE INDEX ix_sign_in_links_invitation_id ON sign_in_links (invitation_id);
CREATE INDEX ix_sign_in_links_email ON sign_in_links (email);
CREATE INDEX ix_sign_in_links_expires_at ON sign_in_links (expires_at);
CREATE INDEX ix_grades_assignment_id_position ON grades (assignment_id, position);
COMMIT;
