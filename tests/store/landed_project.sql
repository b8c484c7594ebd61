BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('screening_0001');
CREATE TABLE decisions (
	id INTEGER NOT NULL, 
	reviewer INTEGER NOT NULL, 
	record INTEGER NOT NULL, 
	answer TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	note TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	looked INTEGER NOT NULL, 
	current BOOLEAN NOT NULL, 
	undone_at DATETIME, 
	CONSTRAINT pk_decisions PRIMARY KEY (id), 
	CONSTRAINT ck_decisions_answer CHECK (answer IN ('include', 'exclude', 'maybe')), 
	CONSTRAINT fk_decisions_reviewer FOREIGN KEY(reviewer) REFERENCES reviewers (id), 
	CONSTRAINT fk_decisions_record FOREIGN KEY(record) REFERENCES records (id)
);
INSERT INTO "decisions" VALUES(1,1,2,'include','','','2026-11-18 10:47:15.269715',1,1,NULL);
INSERT INTO "decisions" VALUES(2,2,2,'exclude','outcome','','2026-11-18 10:47:15.283664',1,1,NULL);
CREATE TABLE duplicates (
	record INTEGER NOT NULL, 
	original INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"by" INTEGER, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_duplicates PRIMARY KEY (record), 
	CONSTRAINT fk_duplicates_record FOREIGN KEY(record) REFERENCES records (id), 
	CONSTRAINT fk_duplicates_original FOREIGN KEY(original) REFERENCES records (id), 
	CONSTRAINT fk_duplicates_by FOREIGN KEY("by") REFERENCES reviewers (id)
);
CREATE TABLE imports (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	records INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_imports PRIMARY KEY (id)
);
INSERT INTO "imports" VALUES(1,'records.ris',4,'2026-11-18 10:47:15.250312');
CREATE TABLE project (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	title TEXT NOT NULL, 
	criteria TEXT NOT NULL, 
	reasons JSON NOT NULL, 
	changes INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_project PRIMARY KEY (id)
);
INSERT INTO "project" VALUES(1,'67a64a0e284d0473','Exercise for depression in adults','','["population", "intervention", "comparison", "outcome", "study design", "publication type"]',2,'2026-11-18 10:47:06.783171');
CREATE TABLE records (
	id INTEGER NOT NULL, 
	source INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	abstract TEXT NOT NULL, 
	reference JSON NOT NULL, 
	CONSTRAINT pk_records PRIMARY KEY (id), 
	CONSTRAINT fk_records_source FOREIGN KEY(source) REFERENCES imports (id)
);
INSERT INTO "records" VALUES(1,1,'Concrete under load in long bridges, report 0','Beams of concrete were loaded until they failed; report 0 on fatigue.','{"title": "Concrete under load in long bridges, report 0", "abstract": "Beams of concrete were loaded until they failed; report 0 on fatigue.", "authors": ["Concreteson A", "Doe J"], "year": 2000, "date": "", "journal": "J Med", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "Concreteson A Doe J J Med  "}');
INSERT INTO "records" VALUES(2,1,'Running as a treatment of depression: trial 1','Adults with depression were given exercise (running) or usual care in trial 1.','{"title": "Running as a treatment of depression: trial 1", "abstract": "Adults with depression were given exercise (running) or usual care in trial 1.", "authors": ["Runningson A", "Doe J"], "year": 2001, "date": "", "journal": "J Med", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "Runningson A Doe J J Med  "}');
INSERT INTO "records" VALUES(3,1,'Steel under load in long bridges, report 2','Beams of steel were loaded until they failed; report 2 on fatigue.','{"title": "Steel under load in long bridges, report 2", "abstract": "Beams of steel were loaded until they failed; report 2 on fatigue.", "authors": ["Steelson A", "Doe J"], "year": 2002, "date": "", "journal": "J Med", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "Steelson A Doe J J Med  "}');
INSERT INTO "records" VALUES(4,1,'Walking as a treatment of depression: trial 3','Adults with depression were given exercise (walking) or usual care in trial 3.','{"title": "Walking as a treatment of depression: trial 3", "abstract": "Adults with depression were given exercise (walking) or usual care in trial 3.", "authors": ["Walkingson A", "Doe J"], "year": 2003, "date": "", "journal": "J Med", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "Walkingson A Doe J J Med  "}');
CREATE TABLE resolutions (
	id INTEGER NOT NULL, 
	record INTEGER NOT NULL, 
	"by" INTEGER NOT NULL, 
	answer TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	undone_at DATETIME, 
	CONSTRAINT pk_resolutions PRIMARY KEY (id), 
	CONSTRAINT ck_resolutions_answer CHECK (answer IN ('include', 'exclude', 'maybe')), 
	CONSTRAINT fk_resolutions_record FOREIGN KEY(record) REFERENCES records (id), 
	CONSTRAINT fk_resolutions_by FOREIGN KEY("by") REFERENCES reviewers (id)
);
INSERT INTO "resolutions" VALUES(1,2,1,'include','','2026-11-18 10:47:15.327363',NULL);
CREATE TABLE reviewers (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_reviewers PRIMARY KEY (id), 
	CONSTRAINT uq_reviewers_name UNIQUE (name)
);
INSERT INTO "reviewers" VALUES(1,'Ada');
INSERT INTO "reviewers" VALUES(2,'Ben');
CREATE INDEX ix_decisions_record ON decisions (record);
CREATE INDEX ix_decisions_reviewer_looked ON decisions (reviewer, looked);
CREATE UNIQUE INDEX one_current_decision ON decisions (reviewer, record) WHERE current;
CREATE UNIQUE INDEX one_current_resolution ON resolutions (record) WHERE undone_at IS NULL;
COMMIT;
