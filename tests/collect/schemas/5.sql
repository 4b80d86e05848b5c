BEGIN TRANSACTION;
CREATE TABLE arms (
	arm INTEGER NOT NULL, 
	condition TEXT NOT NULL, 
	question_set INTEGER NOT NULL, 
	seats BIGINT NOT NULL, 
	next_seat BIGINT NOT NULL, 
	returned BIGINT NOT NULL, 
	PRIMARY KEY (arm)
);
INSERT INTO "arms" VALUES(0,'',0,12,8,0);
CREATE TABLE drafts (
	participant INTEGER NOT NULL, 
	place TEXT NOT NULL, 
	fields TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (participant, place), 
	FOREIGN KEY(participant) REFERENCES participants (number)
);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	kind TEXT NOT NULL, 
	rater TEXT, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1,1.79499601724653029448e+09,'entered','p-tkreve3kggpy','{"source": "prolific"}');
INSERT INTO "events" VALUES(2,1.79499601729519581792e+09,'consented','p-tkreve3kggpy','{"wording": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}');
INSERT INTO "events" VALUES(3,1.79499601739773178101e+09,'finished','p-tkreve3kggpy','{"batch": 1}');
INSERT INTO "events" VALUES(4,1.79499601740940475458e+09,'entered','p-syzfcgbllzke','{"source": "prolific"}');
INSERT INTO "events" VALUES(5,1.79499601742081785205e+09,'consented','p-syzfcgbllzke','{"wording": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}');
CREATE TABLE identities (
	id INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	source TEXT NOT NULL, 
	external TEXT NOT NULL, 
	links TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT identities_once UNIQUE (rater, links)
);
INSERT INTO "identities" VALUES(1,'p-tkreve3kggpy','prolific','aaaaaaaaaaaaaaaaaaaaaaaa','{"SESSION_ID": "aaaaaaaaaaaaaaaaaaaaaaaas"}',1.79499601727810621266e+09);
INSERT INTO "identities" VALUES(2,'p-syzfcgbllzke','prolific','bbbbbbbbbbbbbbbbbbbbbbbb','{"SESSION_ID": "bbbbbbbbbbbbbbbbbbbbbbbbs"}',1.79499601741654014582e+09);
CREATE TABLE invitations (
	token TEXT NOT NULL, 
	note TEXT NOT NULL, 
	made_at FLOAT NOT NULL, 
	PRIMARY KEY (token)
);
CREATE TABLE items (
	"row" INTEGER NOT NULL, 
	item TEXT NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY ("row"), 
	UNIQUE (item)
);
INSERT INTO "items" VALUES(0,'i000','{"text": "Text 0."}');
INSERT INTO "items" VALUES(1,'i001','{"text": "Text 1."}');
INSERT INTO "items" VALUES(2,'i002','{"text": "Text 2."}');
INSERT INTO "items" VALUES(3,'i003','{"text": "Text 3."}');
INSERT INTO "items" VALUES(4,'i004','{"text": "Text 4."}');
INSERT INTO "items" VALUES(5,'i005','{"text": "Text 5."}');
CREATE TABLE login_failures (
	id INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE pages (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	batch INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	"row" BIGINT, 
	condition TEXT NOT NULL, 
	"check" TEXT NOT NULL, 
	arm INTEGER, 
	seat BIGINT, 
	state TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	occasion INTEGER DEFAULT '0' NOT NULL, 
	question_set INTEGER, 
	shown_at FLOAT, 
	PRIMARY KEY (id), 
	CONSTRAINT pages_position UNIQUE (participant, batch, position), 
	CONSTRAINT pages_item_once UNIQUE (participant, "row", occasion), 
	CONSTRAINT pages_seat_once UNIQUE (arm, seat), 
	FOREIGN KEY(participant) REFERENCES participants (number)
);
INSERT INTO "pages" VALUES(1,1,1,1,'item',4,'','',0,2,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(2,1,1,2,'item',3,'','',0,3,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(3,1,1,3,'item',0,'','',0,0,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(4,1,1,4,'attention',2,'','choose-yes',NULL,NULL,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(5,1,1,5,'item',1,'','',0,1,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(6,2,1,1,'item',3,'','',0,7,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(7,2,1,2,'item',5,'','',0,5,'answered',1,0,0,NULL);
INSERT INTO "pages" VALUES(8,2,1,3,'attention',1,'','choose-five',NULL,NULL,'open',0,0,0,NULL);
INSERT INTO "pages" VALUES(9,2,1,4,'item',0,'','',0,6,'open',0,0,0,NULL);
INSERT INTO "pages" VALUES(10,2,1,5,'item',2,'','',0,4,'open',0,0,0,NULL);
CREATE TABLE participants (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	rater TEXT NOT NULL, 
	source TEXT NOT NULL, 
	external TEXT, 
	links TEXT NOT NULL, 
	stage TEXT NOT NULL, 
	question_set INTEGER, 
	arm INTEGER, 
	batch INTEGER NOT NULL, 
	pages INTEGER NOT NULL, 
	answered INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	traits TEXT, 
	lease FLOAT, 
	arrived_at FLOAT NOT NULL, 
	finished_at FLOAT, 
	verdict TEXT NOT NULL, 
	note TEXT DEFAULT '' NOT NULL, 
	rule TEXT DEFAULT '' NOT NULL, 
	consented_at FLOAT, 
	wording TEXT, 
	route TEXT, 
	place INTEGER, 
	state TEXT DEFAULT '{}' NOT NULL, 
	deadline FLOAT, language TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (number), 
	CONSTRAINT participants_external UNIQUE (source, external), 
	UNIQUE (id), 
	UNIQUE (rater)
);
INSERT INTO "participants" VALUES(1,'T62OIXK_th-egwhEj76bBGch1oJeN7UV','p-tkreve3kggpy','prolific',NULL,'{}','finished',0,0,1,5,5,0,'{"age": 33}',NULL,1.79499601723110914228e+09,1.79499601739814043047e+09,'pending','','',1.79499601729473781588e+09,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','[0, 1, 2, 3]',4,'{"read": [""]}',NULL,'');
INSERT INTO "participants" VALUES(2,'SdMc2LkT1fapiAo6l2bQ7W6pVeDZib7Y','p-syzfcgbllzke','prolific',NULL,'{}','working',0,0,1,5,2,0,'{"age": 33}',1.79499961746141219144e+09,1.79499601740844130521e+09,NULL,'pending','','',1.79499601742070960998e+09,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','[0, 1, 2, 3]',3,'{"read": [""]}',NULL,'');
CREATE TABLE private_settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "private_settings" VALUES('secret','9fd2174a8a6b0c7c3a9b71952aeb82f867b2bebdf2a7f0c964d3d6b988eabb83');
CREATE TABLE quota_places (
	participant INTEGER NOT NULL, 
	trait TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (participant, trait), 
	FOREIGN KEY(participant) REFERENCES participants (number)
);
CREATE TABLE receipts (
	code TEXT NOT NULL, 
	participant BIGINT NOT NULL, 
	at FLOAT NOT NULL, 
	deleted TEXT NOT NULL, 
	purged_at FLOAT, 
	PRIMARY KEY (code), 
	UNIQUE (participant)
);
CREATE TABLE recruiting (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	act TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	study TEXT NOT NULL, 
	submission TEXT NOT NULL, 
	amount INTEGER NOT NULL, 
	currency TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT recruiting_once UNIQUE ("key", state)
);
CREATE TABLE returned (
	arm INTEGER NOT NULL, 
	seat BIGINT NOT NULL, 
	"row" BIGINT NOT NULL, 
	PRIMARY KEY (arm, seat)
);
CREATE TABLE reviews (
	id INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	verdict TEXT NOT NULL, 
	note TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	rule TEXT DEFAULT '' NOT NULL, 
	decided_by TEXT DEFAULT 'researcher' NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(participant) REFERENCES participants (number)
);
CREATE TABLE sessions (
	id TEXT NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('schema','5');
INSERT INTO "settings" VALUES('study','{"id": "mine", "title": "My questions", "language": "", "languages": [], "instrument": "mine.yaml", "parameters": {}, "questions": "together", "conditions": null, "raters": 2, "double": null, "batch": {"size": 4, "per_participant": 1}, "order": {"items": "random", "seed": 0}, "presentation": null, "reserve_minutes": 60.0, "attention": {"per_batch": 1, "checks": [], "threshold": 0.2, "placed": "above"}, "gold": null, "rules": [], "evidence": null, "traits": [{"id": "age", "ask": "How old are you?", "options": [], "kind": "number", "from": 18, "to": 99, "required": false, "show_if": null}], "quiz": null, "flow": [], "quotas": {}, "consent": "", "warning": "", "guidelines": "", "contact": "", "withdrawal": "delete", "recruitment": {"via": "prolific", "parameter": "id", "offer": null, "completion_code": "DONE", "screen_out_code": null, "no_consent_code": null, "failed_check_code": null, "full_code": null, "completion_url": null}}');
INSERT INTO "settings" VALUES('instrument','{"id": "mine", "version": 1, "title": "My questions", "description": "Questions and scales as they came with the data.", "fields": [{"name": "text", "title": "Text"}], "guidelines": "Read the text and answer the question about it.", "scales": {"scale-1": {"level": "ordinal", "options": [{"code": 1}, {"code": 2}, {"code": 3}, {"code": 4}, {"code": 5}]}, "scale-2": {"level": "nominal", "options": [{"code": 0, "label": "no"}, {"code": 1, "label": "yes"}]}}, "questions": [{"id": "warm", "title": "warm", "ask": "warm", "scale": "scale-1"}, {"id": "kind", "title": "kind", "ask": "kind", "scale": "scale-2"}], "conditions": {"plain": {"shows": ["text"]}, "fancy": {"shows": ["text"]}}, "checks": [{"id": "choose-five", "instruction": "Choose 5 here.", "question": "warm", "accept": [5]}, {"id": "choose-yes", "instruction": "Choose yes here.", "question": "kind", "accept": [1]}]}');
INSERT INTO "settings" VALUES('instruments','{}');
INSERT INTO "settings" VALUES('corpus','corpus');
INSERT INTO "settings" VALUES('items','8edf68754548d75115f11ea1f024253c6158216f10f0f03ac2d9e24cdbdbd8d2');
INSERT INTO "settings" VALUES('items_file','19466a63d415e3e9fdc862f390924cee04f7bad6ceae9f80d9be181f2ca289d3');
INSERT INTO "settings" VALUES('count','6');
INSERT INTO "settings" VALUES('gold','[]');
INSERT INTO "settings" VALUES('paused','');
INSERT INTO "settings" VALUES('rows','{}');
INSERT INTO "settings" VALUES('private','here');
CREATE TABLE submissions (
	id INTEGER NOT NULL, 
	page INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	answers TEXT NOT NULL, 
	seconds FLOAT, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT submissions_revision UNIQUE (page, revision), 
	CONSTRAINT submissions_token UNIQUE (page, token), 
	FOREIGN KEY(page) REFERENCES pages (id)
);
INSERT INTO "submissions" VALUES(1,1,1,'1.zin1loHTmk4k','{"warm": [5.0, "answered", null], "kind": [1.0, "answered", null]}',2.0,1.79499601735017824165e+09);
INSERT INTO "submissions" VALUES(2,2,1,'2.x0nzIUXhoKGc','{"warm": [4.0, "answered", null], "kind": [1.0, "answered", null]}',3.0,1.7949960173695662022e+09);
INSERT INTO "submissions" VALUES(3,3,1,'3.1AFZ9T8rYKvU','{"warm": [1.0, "answered", null], "kind": [1.0, "answered", null]}',4.0,1.79499601737752294541e+09);
INSERT INTO "submissions" VALUES(4,4,1,'4.fjnX3ORKLrFF','{"warm": [3.0, "answered", null], "kind": [1.0, "answered", null]}',2.0,1.79499601738550782206e+09);
INSERT INTO "submissions" VALUES(5,5,1,'5.6g4n-_VjAzhh','{"warm": [2.0, "answered", null], "kind": [1.0, "answered", null]}',3.0,1.7949960173934392929e+09);
INSERT INTO "submissions" VALUES(6,6,1,'6.VIr8Ay48yV4_','{"warm": [4.0, "answered", null], "kind": [1.0, "answered", null]}',2.0,1.79499601745360374454e+09);
INSERT INTO "submissions" VALUES(7,7,1,'7.ZGNtONTysrNz','{"warm": [1.0, "answered", null], "kind": [1.0, "answered", null]}',3.0,1.79499601746141219135e+09);
CREATE TABLE wordings (
	sha256 TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (sha256)
);
INSERT INTO "wordings" VALUES('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','');
CREATE INDEX returned_row ON returned (arm, "row");
CREATE INDEX participants_lease ON participants (lease);
CREATE TRIGGER events_no_UPDATE BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER events_no_DELETE BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE INDEX pages_row ON pages ("row");
CREATE INDEX pages_next ON pages (participant, batch, state, position);
CREATE INDEX quota_places_value ON quota_places (trait, value);
CREATE INDEX login_failures_who ON login_failures (who, at);
COMMIT;
