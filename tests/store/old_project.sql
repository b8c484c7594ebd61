PRAGMA application_id = 1381454691;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE decisions (
	id INTEGER NOT NULL,
	reviewer INTEGER NOT NULL,
	record INTEGER NOT NULL,
	answer TEXT NOT NULL,
	reason TEXT NOT NULL,
	note TEXT NOT NULL,
	at TEXT NOT NULL,
	looked INTEGER NOT NULL,
	current BOOLEAN NOT NULL,
	undone_at TEXT,
	CONSTRAINT pk_decisions PRIMARY KEY (id),
	CONSTRAINT ck_decisions_answer CHECK (answer IN ('include', 'exclude', 'maybe')),
	CONSTRAINT fk_decisions_reviewer FOREIGN KEY(reviewer) REFERENCES reviewers (id),
	CONSTRAINT fk_decisions_record FOREIGN KEY(record) REFERENCES records (id)
);
INSERT INTO "decisions" VALUES(1,1,1,'include','','','2026-11-17T22:11:14+00:00',1,1,NULL);
INSERT INTO "decisions" VALUES(2,2,1,'exclude','outcome','','2026-11-17T22:11:14+00:00',1,1,NULL);
INSERT INTO "decisions" VALUES(3,1,2,'maybe','','','2026-11-17T22:11:14+00:00',2,0,'2026-11-17T22:11:14+00:00');
CREATE TABLE duplicates (
	record INTEGER NOT NULL,
	original INTEGER NOT NULL,
	why TEXT NOT NULL,
	state TEXT NOT NULL,
	"by" INTEGER,
	at TEXT NOT NULL,
	CONSTRAINT pk_duplicates PRIMARY KEY (record),
	CONSTRAINT fk_duplicates_record FOREIGN KEY(record) REFERENCES records (id),
	CONSTRAINT fk_duplicates_original FOREIGN KEY(original) REFERENCES records (id),
	CONSTRAINT fk_duplicates_by FOREIGN KEY("by") REFERENCES reviewers (id)
);
INSERT INTO "duplicates" VALUES(3,1,'same title','set aside',NULL,'2026-11-17T22:11:14+00:00');
CREATE TABLE imports (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	records INTEGER NOT NULL,
	at TEXT NOT NULL,
	CONSTRAINT pk_imports PRIMARY KEY (id)
);
INSERT INTO "imports" VALUES(1,'a.ris',3,'2026-11-17T22:11:14+00:00');
CREATE TABLE project (
	id INTEGER NOT NULL,
	"key" TEXT NOT NULL,
	title TEXT NOT NULL,
	criteria TEXT NOT NULL,
	reasons JSON NOT NULL,
	changes INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	CONSTRAINT pk_project PRIMARY KEY (id)
);
INSERT INTO "project" VALUES(1,'63a2783e26d43bb3','Exercise','','["population", "intervention", "comparison", "outcome", "study design", "publication type"]',4,'2026-11-17T22:11:10+00:00');
CREATE TABLE records (
	id INTEGER NOT NULL,
	source INTEGER NOT NULL,
	title TEXT NOT NULL,
	abstract TEXT NOT NULL,
	reference JSON NOT NULL,
	CONSTRAINT pk_records PRIMARY KEY (id),
	CONSTRAINT fk_records_source FOREIGN KEY(source) REFERENCES imports (id)
);
INSERT INTO "records" VALUES(1,1,'One','Text','{"title": "One", "abstract": "Text", "authors": ["A B"], "year": 2001, "date": "", "journal": "", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [["N1", "x"]], "source": "ris", "more_words": "A B   "}');
INSERT INTO "records" VALUES(2,1,'Two','','{"title": "Two", "abstract": "", "authors": [], "year": null, "date": "", "journal": "", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "  "}');
INSERT INTO "records" VALUES(3,1,'One','Text','{"title": "One", "abstract": "Text", "authors": ["A B"], "year": 2001, "date": "", "journal": "", "doi": "", "pmid": "", "url": "", "keywords": [], "kind": "JOUR", "more": [], "source": "", "more_words": "A B   "}');
CREATE TABLE resolutions (
	id INTEGER NOT NULL,
	record INTEGER NOT NULL,
	"by" INTEGER NOT NULL,
	answer TEXT NOT NULL,
	reason TEXT NOT NULL,
	at TEXT NOT NULL,
	undone_at TEXT,
	CONSTRAINT pk_resolutions PRIMARY KEY (id),
	CONSTRAINT ck_resolutions_answer CHECK (answer IN ('include', 'exclude', 'maybe')),
	CONSTRAINT fk_resolutions_record FOREIGN KEY(record) REFERENCES records (id),
	CONSTRAINT fk_resolutions_by FOREIGN KEY("by") REFERENCES reviewers (id)
);
INSERT INTO "resolutions" VALUES(1,1,1,'include','','2026-11-17T22:11:14+00:00',NULL);
CREATE TABLE reviewers (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	CONSTRAINT pk_reviewers PRIMARY KEY (id),
	CONSTRAINT uq_reviewers_name UNIQUE (name)
);
INSERT INTO "reviewers" VALUES(1,'Ada');
INSERT INTO "reviewers" VALUES(2,'Ben');
CREATE INDEX ix_decisions_record ON decisions (record);
CREATE UNIQUE INDEX one_current_decision ON decisions (reviewer, record) WHERE current;
CREATE INDEX ix_decisions_reviewer_looked ON decisions (reviewer, looked);
CREATE UNIQUE INDEX one_current_resolution ON resolutions (record) WHERE undone_at IS NULL;
COMMIT;
