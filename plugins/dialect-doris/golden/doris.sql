-- a table with a model, a partition, buckets and copies
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` BIGINT NOT NULL COMMENT "the order", `dt` DATE NOT NULL COMMENT "when", `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note", `total` DECIMAL(18, 2) NOT NULL DEFAULT "0", `tags` ARRAY<STRING> NULL) ENGINE = OLAP UNIQUE KEY (`id`, `dt`) COMMENT "what was ordered" AUTO PARTITION BY RANGE (DATE_TRUNC (`dt`, "month")) () DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a table of which only fields are said
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`a` INT NULL, `b` STRING NULL) ENGINE = OLAP DUPLICATE KEY (`a`) DISTRIBUTED BY RANDOM BUCKETS AUTO;
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable
-- note: keyColumns: rows need an order to be kept in; without a key the first field is it

-- key fields go first, in the key's order
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`a` VARCHAR(8) NOT NULL, `b` INT NOT NULL, `v` INT NULL) ENGINE = OLAP UNIQUE KEY (`a`, `b`) COMMENT "what was ordered" AUTO PARTITION BY LIST (`a`) () DISTRIBUTED BY HASH (`a`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable
-- note: fields: the fields of the key come first, in the key's order
-- note: distributionColumn: rows of this model are spread by their key; a was taken

-- every type and every default
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`k` LARGEINT NOT NULL, `f1` BOOLEAN NULL DEFAULT "true", `f2` TINYINT NULL DEFAULT "-1", `f3` SMALLINT NULL DEFAULT NULL, `f4` FLOAT NULL DEFAULT "1.5", `f5` DOUBLE NULL, `f6` DECIMAL(10, 0) NULL DEFAULT "0", `f7` DATETIME NULL DEFAULT CURRENT_TIMESTAMP, `f8` CHAR(3) NULL DEFAULT "a
b", `f9` JSON NULL, `f10` MAP<STRING, ARRAY<INT>> NULL, `f11` STRUCT<`a`: INT, `b`: VARCHAR(9)> NULL) ENGINE = OLAP DUPLICATE KEY (`k`) COMMENT "what was ordered" DISTRIBUTED BY HASH (`k`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- comments that try to leave their quotes
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` INT NOT NULL, `a` INT NULL COMMENT "'; DROP TABLE o; -- ", `b` INT NULL COMMENT '"; DROP TABLE o; -- ', `c` INT NULL COMMENT "/* */ # ; 
 中文") ENGINE = OLAP UNIQUE KEY (`id`) COMMENT "C:\\dir\\ it's '; DROP TABLE o; --" DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- all that is wrong with a new table is said at once
-- refused: fields[1].fieldType: invalid_value: '\'' cannot stand in a type; defaults, comments and constraints are members of their own
-- refused: fields[1].fieldName: conflict: there are two fields "K"; the case of letters does not count
-- refused: fields[2].defaultValue: invalid_value: the field's type wants a number for a default
-- refused: fields[3].fieldName: invalid_name: the server keeps names that begin with __doris_ for itself
-- refused: fields[3].fieldComment: not_representable: Doris removes every backslash from a field's comment where the field is defined
-- refused: fields[4].fieldName: invalid_name: this Doris takes ASCII names only; SET GLOBAL enable_unicode_name_support = true would let it take others
-- refused: tableModel: unsupported_by_dialect: a table that aggregates needs to know how each field does, which cannot be said here
-- refused: keyColumns: invalid_value: k is STRING, which cannot belong to a key in Doris
-- refused: distributionColumn: invalid_value: the distribution names "nobody", which is no field
-- refused: partitionColumn: unsupported_by_dialect: a table is parted by one field here, not by several
-- refused: bucketNum: invalid_value: a table has one bucket or more
-- refused: replicaNum: invalid_value: a table has one copy or more

-- a table is renamed
-- renames the table orders to orders_deprecated_20261121174700 (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME `orders_deprecated_20261121174700`;
--   rests on: renameTable
-- undo: ALTER TABLE `ods`.`orders_deprecated_20261121174700` RENAME `orders`;
--   rests on: renameTable

-- a table is restored
-- renames the table orders to orders_2 (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME `orders_2`;
--   rests on: renameTable
-- undo: ALTER TABLE `ods`.`orders_2` RENAME `orders`;
--   rests on: renameTable

-- a table is dropped
-- drops the table orders with its rows; Doris keeps it for a day (RECOVER TABLE) (metadata, all, destroys)
DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a table is dropped at once
-- drops the table orders with its rows, at once (metadata, all, destroys)
DROP TABLE `ods`.`orders` FORCE;
--   rests on: dropTable

-- a table's comment changes
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COMMENT "it's other";
--   rests on: modifyTableComment
-- undo: ALTER TABLE `ods`.`orders` MODIFY COMMENT "what was ordered";
--   rests on: modifyTableComment

-- a table's comment goes
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COMMENT "";
--   rests on: modifyTableComment
-- undo: ALTER TABLE `ods`.`orders` MODIFY COMMENT "what was ordered";
--   rests on: modifyTableComment

-- a table's comment has a backslash
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COMMENT "C:\dir";
--   rests on: modifyTableComment
-- undo: ALTER TABLE `ods`.`orders` MODIFY COMMENT "what was ordered";
--   rests on: modifyTableComment

-- a table's comment has both quotes
-- refused: tableComment: not_representable: Doris takes this text as it stands between its quotes: it may have single or double quotes, not both

-- a table's comment ends with a backslash
-- refused: tableComment: not_representable: Doris takes this text as it stands between its quotes: it may not end with a backslash

-- a field is added
-- adds the field n to orders (metadata, brief)
ALTER TABLE `ods`.`orders` ADD COLUMN `n` INT NOT NULL DEFAULT "0" COMMENT "how many" AFTER `note`;
--   rests on: addColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DROP COLUMN `n`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field is added last
-- adds the field n to orders (metadata, brief)
ALTER TABLE `ods`.`orders` ADD COLUMN `n` DATETIME NULL;
--   rests on: addColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DROP COLUMN `n`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field is added within the key
-- adds the field n to orders (metadata, brief)
ALTER TABLE `ods`.`orders` ADD COLUMN `n` INT NULL;
--   rests on: addColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DROP COLUMN `n`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- note: fieldOrder: the fields of the key stay together, so the new field comes last

-- a field is added that rows have no value for
-- refused: isNullable: unsupported_by_dialect: the rows that are there need a value: allow NULL, or give a default other than NULL

-- a field is added to the key
-- refused: isPrimaryKey: unsupported_by_dialect: the key of a table that is there is not changed
-- refused: isNullable: unsupported_by_dialect: the rows that are there need a value: allow NULL, or give a default other than NULL

-- a field is added that is there
-- refused: fieldName: conflict: there is a field "note" already; the case of letters does not count

-- a field gets a wider type
-- changes the field note of orders (metadata, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(128) NULL DEFAULT 'x"y\z' COMMENT "it's a note";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field gets a type that rewrites its data
-- changes the field note of orders (rewrite, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` STRING NULL DEFAULT 'x"y\z' COMMENT "it's a note";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field gets another spelling of its type

-- a field gets a narrower type
-- refused: fieldType: unsupported_by_dialect: as VARCHAR(32), not every value of VARCHAR(64) would stay what it is; add a field and fill it

-- a field gets a type that loses values
-- refused: fieldType: unsupported_by_dialect: as INT, not every value of VARCHAR(64) would stay what it is; add a field and fill it

-- a field of the key gets another type
-- refused: fieldType: unsupported_by_dialect: id belongs to the key, which is not changed

-- a field may be NULL
-- changes the field total of orders (rewrite, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `total` DECIMAL(18, 2) NULL DEFAULT "0";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field may no longer be NULL
-- refused: isNullable: unsupported_by_dialect: Doris does not take NULL away from a field that allows it

-- a field gets another default
-- refused: defaultValue: unsupported_by_dialect: Doris does not change the default of a field that is there

-- a field gets another comment
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT 'say "so"';
--   rests on: modifyColumn
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "it's a note";
--   rests on: modifyColumn

-- a field's comment has both quotes
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's \"so\"";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field's comment has a backslash
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "C:\dir";
--   rests on: modifyColumn
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "it's a note";
--   rests on: modifyColumn

-- a field's comment ends with a backslash
-- refused: fieldComment: not_representable: Doris takes this text as it stands between its quotes: it may not end with a backslash

-- a field of the key gets another comment
-- changes the comment of the field id of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `id` COMMENT "number";
--   rests on: modifyColumn
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `id` COMMENT "the order";
--   rests on: modifyColumn

-- a field gets another name
-- renames the field note of orders to remark (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME COLUMN `note` `remark`;
--   rests on: renameColumn
-- undo: ALTER TABLE `ods`.`orders` RENAME COLUMN `remark` `note`;
--   rests on: renameColumn

-- a field gets another name, type and comment
-- changes the field note of orders (metadata, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(128) NULL DEFAULT 'x"y\z';
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "C:\dir";
--   rests on: modifyColumn
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "it's a note";
--   rests on: modifyColumn
-- renames the field note of orders to remark (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME COLUMN `note` `remark`;
--   rests on: renameColumn
-- undo: ALTER TABLE `ods`.`orders` RENAME COLUMN `remark` `note`;
--   rests on: renameColumn

-- the field that parts the table gets another name
-- refused: fieldName: unsupported_by_dialect: dt parts the table, and its partitions are made by that name

-- a field is dropped
-- drops the field note of orders with its values (metadata, brief, destroys)
ALTER TABLE `ods`.`orders` DROP COLUMN `note`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` ADD COLUMN `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note" AFTER `dt`;
--   rests on: addColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field of the key is dropped
-- refused: fieldName: unsupported_by_dialect: id belongs to the key; without it rows would be put together or lie elsewhere

-- the number of buckets changes
-- gives partitions to come of orders 32 buckets (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY HASH (`id`) BUCKETS 32;
--   rests on: modifyDistribution
-- undo: ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY HASH (`id`) BUCKETS 10;
--   rests on: modifyDistribution
-- note: bucketNum: Doris gives this number to partitions made from now on; those that are there keep theirs

-- the number of buckets is what it was
-- refused: bucketNum: invalid_value: orders has 10 buckets already; nothing would change

-- rows that are spread by chance get other buckets
-- gives partitions to come of orders 32 buckets (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY RANDOM BUCKETS 32;
--   rests on: modifyDistribution
-- undo: ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY RANDOM BUCKETS 10;
--   rests on: modifyDistribution
-- note: bucketNum: Doris gives this number to partitions made from now on; those that are there keep theirs

-- a table without partitions gets other buckets
-- refused: bucketNum: unsupported_by_dialect: orders has no partitions, and Doris changes the number of buckets for partitions to come only; the table would have to be created again

-- the number of copies changes
-- sets the copies of all partitions of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "1");
--   rests on: modifyPartition
-- undo: ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "3");
--   rests on: modifyPartition
-- sets the copies of the partitions to come of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "1");
--   rests on: setProperties
-- undo: ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "3");
--   rests on: setProperties
-- note: replicaNum: Doris makes or removes the copies in the background; that takes as long as the data is large

-- the number of copies is what it was
-- refused: replicaNum: invalid_value: orders has 3 copies already; nothing would change

-- partitions have different numbers of copies
-- sets the copies of all partitions of orders to 3 (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "3");
--   rests on: modifyPartition
-- sets the copies of the partitions to come of orders to 3 (metadata, brief)
ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "3");
--   rests on: setProperties
-- note: replicaNum: Doris makes or removes the copies in the background; that takes as long as the data is large

-- a data source says how many copies and how long partitions are
-- makes the table 订单 (metadata, none)
CREATE TABLE `ods`.`订单` (`id` BIGINT NOT NULL COMMENT "the order", `dt` DATE NOT NULL COMMENT "when", `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note", `total` DECIMAL(18, 2) NOT NULL DEFAULT "0", `tags` ARRAY<STRING> NULL) ENGINE = OLAP UNIQUE KEY (`id`, `dt`) COMMENT "what was ordered" AUTO PARTITION BY RANGE (DATE_TRUNC (`dt`, "day")) () DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "1");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`订单`;
--   rests on: dropTable

-- a time with digits of a second
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` INT NOT NULL, `at` DATETIME(3) NULL DEFAULT CURRENT_TIMESTAMP (3), `v` VARIANT NULL, `ip` IPV4 NULL) ENGINE = OLAP UNIQUE KEY (`id`) COMMENT "what was ordered" DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a table's comment has both quotes from the beginning
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` BIGINT NOT NULL COMMENT "the order", `dt` DATE NOT NULL COMMENT "when", `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note", `total` DECIMAL(18, 2) NOT NULL DEFAULT "0", `tags` ARRAY<STRING> NULL) ENGINE = OLAP UNIQUE KEY (`id`, `dt`) COMMENT "it's \"so\"" DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a default has both quotes
-- refused: fields[2].defaultValue: not_representable: Doris takes this text as it stands between its quotes: it may have single or double quotes, not both

-- a default ends with a backslash
-- refused: fields[2].defaultValue: not_representable: Doris takes this text as it stands between its quotes: it may not end with a backslash

-- a field gets a wider type where rows replace rows as they are read
-- changes the field note of orders (metadata, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(128) NULL DEFAULT 'x"y\z' COMMENT "it's a note";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field that follows each update gets another type
-- refused: fieldType: unsupported_by_dialect: note is set to the time of each update, which could not be said again

-- a field that follows each update gets another comment
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "other";
--   rests on: modifyColumn
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` COMMENT "it's a note";
--   rests on: modifyColumn

-- a field that follows each update is dropped
-- drops the field note of orders with its values (metadata, brief, destroys)
ALTER TABLE `ods`.`orders` DROP COLUMN `note`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- the server has chosen the number of buckets so far
-- gives partitions to come of orders 32 buckets (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY HASH (`id`) BUCKETS 32;
--   rests on: modifyDistribution
-- note: bucketNum: Doris gives this number to partitions made from now on; so far it chose by itself (BUCKETS AUTO), which is not brought back and which most versions go on showing

-- partitions are made ahead of time, and get other buckets
-- refused: bucketNum: unsupported_by_dialect: Doris makes the partitions of orders ahead of time, by the property dynamic_partition.buckets, which this does not change

-- partitions are made ahead of time, and get other copies
-- sets the copies of all partitions of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "1");
--   rests on: modifyPartition
-- undo: ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "3");
--   rests on: modifyPartition
-- sets the copies of the partitions to come of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "1");
--   rests on: setProperties
-- undo: ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "3");
--   rests on: setProperties
-- note: replicaNum: Doris makes or removes the copies in the background; that takes as long as the data is large; partitions that it makes ahead of time keep the number of dynamic_partition

-- a truth value is defined again as the server keeps it
-- changes the field total of orders (rewrite, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `total` BOOLEAN NULL DEFAULT "1";
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a required text becomes optional
-- changes the field note of orders (metadata, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL;
--   rests on: modifyColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- defaults that only the server would refuse
-- refused: fields[1].defaultValue: invalid_value: 0.1 is not exact as FLOAT, and Doris takes exact defaults only; DOUBLE keeps it
-- refused: fields[2].defaultValue: invalid_value: the default has 4 bytes, and VARCHAR(3) takes 3
-- refused: fields[3].defaultValue: invalid_value: "2026-02-30" is no DATE that there is; the form is 2026-01-31
-- refused: fields[4].defaultValue: invalid_value: "2026-02-28" is no DATETIME that there is; the form is 2026-01-31 09:30:00
-- refused: fields[5].defaultValue: invalid_value: "localhost" is no IPV4 that there is; the form is 192.0.2.1
-- refused: fields[6].defaultValue: invalid_value: 3000000000 is outside of INT: -2147483648 to 2147483647
-- refused: fields[7].defaultValue: invalid_value: 100 does not fit into DECIMAL(4,2): 2 digits before the point and 2 behind it

-- a colocated table gets other buckets
-- refused: bucketNum: unsupported_by_dialect: orders lies together with other tables (colocate_with), which all have the same buckets and copies; Doris does not change those of one

-- a colocated table gets other copies
-- refused: replicaNum: unsupported_by_dialect: orders lies together with other tables (colocate_with), which all have the same buckets and copies; Doris does not change those of one

-- a table in shared storage gets other buckets
-- refused: bucketNum: unsupported_by_dialect: orders lies in the storage that all nodes of this Doris share (cloud mode), where Doris changes neither buckets nor copies

-- a table in shared storage gets other copies
-- refused: replicaNum: unsupported_by_dialect: orders lies in the storage that all nodes of this Doris share (cloud mode), where Doris changes neither buckets nor copies

-- copies lie by tags
-- refused: replicaNum: unsupported_by_dialect: the copies of orders lie by tags (tag.location.default: 2, tag.location.b: 1); a number would put all on the default tag

-- an old server makes a table with a backslash in a default
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` BIGINT NOT NULL COMMENT "the order", `dt` DATE NOT NULL COMMENT "when", `note` VARCHAR(64) NULL DEFAULT 'x"y\z' COMMENT "it's a note", `total` DECIMAL(18, 2) NOT NULL DEFAULT "0", `tags` ARRAY<STRING> NULL) ENGINE = OLAP UNIQUE KEY (`id`, `dt`) COMMENT "what was ordered" AUTO PARTITION BY RANGE (DATE_TRUNC (`dt`, "month")) () DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTable
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- an old server gives a table a comment with a backslash
-- refused: tableComment: not_representable: Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape

-- an old server gives a field a comment with a backslash
-- refused: fieldComment: not_representable: Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape

-- an old server defines a field with a backslash in its default
-- refused: defaultValue: not_representable: Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape

-- an old server drops a field with a backslash in its default
-- drops the field note of orders with its values (metadata, brief, destroys)
ALTER TABLE `ods`.`orders` DROP COLUMN `note`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- an old server changes copies that it does not list by partition
-- sets the copies of all partitions of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "1");
--   rests on: modifyPartition
-- undo: ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "3");
--   rests on: modifyPartition
-- its undo does not bring everything back
-- sets the copies of the partitions to come of orders to 1 (metadata, brief)
ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "1");
--   rests on: setProperties
-- undo: ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "3");
--   rests on: setProperties
-- note: replicaNum: Doris makes or removes the copies in the background; that takes as long as the data is large

-- 3.1 gives a table a comment with a backslash
-- refused: tableComment: not_representable: Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape

-- 3.1 defines a field with a backslash in its default
-- refused: defaultValue: not_representable: Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape

