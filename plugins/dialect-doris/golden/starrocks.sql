-- a table with a model, a partition, buckets and copies
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` BIGINT NOT NULL COMMENT "the order", `dt` DATE NOT NULL COMMENT "when", `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note", `total` DECIMAL(18, 2) NOT NULL DEFAULT "0", `tags` ARRAY<VARCHAR(65533)> NULL) ENGINE = OLAP PRIMARY KEY (`id`, `dt`) COMMENT "what was ordered" PARTITION BY DATE_TRUNC ("month", `dt`) DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTableStatement
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a table of which only fields are said
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`a` INT NULL, `b` VARCHAR(65533) NULL) ENGINE = OLAP DUPLICATE KEY (`a`) DISTRIBUTED BY RANDOM;
--   rests on: createTableStatement
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable
-- note: keyColumns: rows need an order to be kept in; without a key the first field is it

-- key fields go first, in the key's order
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`a` VARCHAR(8) NOT NULL, `b` INT NOT NULL, `v` INT NULL) ENGINE = OLAP UNIQUE KEY (`a`, `b`) COMMENT "what was ordered" PARTITION BY (`a`) DISTRIBUTED BY HASH (`a`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTableStatement
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable
-- note: fields: the fields of the key come first, in the key's order
-- note: distributionColumn: rows of this model are spread by their key; a was taken

-- every type and every default
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`k` LARGEINT NOT NULL, `f1` BOOLEAN NULL DEFAULT "true", `f2` TINYINT NULL DEFAULT "-1", `f3` SMALLINT NULL DEFAULT NULL, `f4` FLOAT NULL DEFAULT "1.5", `f5` DOUBLE NULL, `f6` DECIMAL(10, 0) NULL DEFAULT "0", `f7` DATETIME NULL DEFAULT CURRENT_TIMESTAMP, `f8` CHAR(3) NULL DEFAULT "a
b", `f9` JSON NULL, `f10` MAP<VARCHAR(65533), ARRAY<INT>> NULL, `f11` STRUCT<`a` INT, `b` VARCHAR(9)> NULL) ENGINE = OLAP DUPLICATE KEY (`k`) COMMENT "what was ordered" DISTRIBUTED BY HASH (`k`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTableStatement
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- comments that try to leave their quotes
-- makes the table orders (metadata, none)
CREATE TABLE `ods`.`orders` (`id` INT NOT NULL, `a` INT NULL COMMENT "'; DROP TABLE o; -- ", `b` INT NULL COMMENT '"; DROP TABLE o; -- ', `c` INT NULL COMMENT "/* */ # ; 
 中文") ENGINE = OLAP PRIMARY KEY (`id`) COMMENT "C:\\dir\\ it's '; DROP TABLE o; --" DISTRIBUTED BY HASH (`id`) BUCKETS 10 PROPERTIES ("replication_num" = "3");
--   rests on: createTableStatement
-- undo: DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- all that is wrong with a new table is said at once
-- refused: fields[1].fieldType: invalid_value: '\'' cannot stand in a type; defaults, comments and constraints are members of their own
-- refused: fields[1].fieldName: conflict: there are two fields "K"; the case of letters does not count
-- refused: fields[2].defaultValue: invalid_value: the field's type wants a number for a default
-- refused: fields[3].fieldName: invalid_name: the server keeps names that begin with __doris_ for itself
-- refused: tableModel: unsupported_by_dialect: a table that aggregates needs to know how each field does, which cannot be said here
-- refused: keyColumns: invalid_value: k is STRING, which cannot belong to a key in StarRocks
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
-- drops the table orders with its rows; StarRocks keeps it for a day (RECOVER TABLE) (metadata, all, destroys)
DROP TABLE `ods`.`orders`;
--   rests on: dropTable

-- a table is dropped at once
-- drops the table orders with its rows, at once (metadata, all, destroys)
DROP TABLE `ods`.`orders` FORCE;
--   rests on: dropTable

-- a table's comment changes
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` COMMENT = "it's other";
--   rests on: alterTableCommentClause
-- undo: ALTER TABLE `ods`.`orders` COMMENT = "what was ordered";
--   rests on: alterTableCommentClause

-- a table's comment goes
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` COMMENT = "";
--   rests on: alterTableCommentClause
-- undo: ALTER TABLE `ods`.`orders` COMMENT = "what was ordered";
--   rests on: alterTableCommentClause

-- a table's comment has a backslash
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` COMMENT = "C:\\dir";
--   rests on: alterTableCommentClause
-- undo: ALTER TABLE `ods`.`orders` COMMENT = "what was ordered";
--   rests on: alterTableCommentClause

-- a table's comment has both quotes
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` COMMENT = "it's ""so""";
--   rests on: alterTableCommentClause
-- undo: ALTER TABLE `ods`.`orders` COMMENT = "what was ordered";
--   rests on: alterTableCommentClause

-- a table's comment ends with a backslash
-- changes the comment of orders (metadata, brief)
ALTER TABLE `ods`.`orders` COMMENT = "C:\\";
--   rests on: alterTableCommentClause
-- undo: ALTER TABLE `ods`.`orders` COMMENT = "what was ordered";
--   rests on: alterTableCommentClause

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
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(128) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field gets a type that rewrites its data
-- changes the field note of orders (rewrite, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(65533) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
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
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field may no longer be NULL
-- refused: isNullable: unsupported_by_dialect: StarRocks does not take NULL away from a field that allows it

-- a field gets another default
-- refused: defaultValue: unsupported_by_dialect: StarRocks does not change the default of a field that is there

-- a field gets another comment
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT 'say "so"';
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field's comment has both quotes
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's ""so""";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field's comment has a backslash
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "C:\\dir";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field's comment ends with a backslash
-- changes the comment of the field note of orders (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "C:\\";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field of the key gets another comment
-- refused: fieldComment: not_representable: StarRocks changes this comment only with the whole definition, and that of a key is not changed

-- a field gets another name
-- renames the field note of orders to remark (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME COLUMN `note` TO `remark`;
--   rests on: columnRenameClause
-- undo: ALTER TABLE `ods`.`orders` RENAME COLUMN `remark` TO `note`;
--   rests on: columnRenameClause

-- a field gets another name, type and comment
-- changes the field note of orders (metadata, unknown)
ALTER TABLE `ods`.`orders` MODIFY COLUMN `note` VARCHAR(128) NULL DEFAULT "x""y'z\\" COMMENT "C:\\dir";
--   rests on: modifyColumnClause
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- renames the field note of orders to remark (metadata, brief)
ALTER TABLE `ods`.`orders` RENAME COLUMN `note` TO `remark`;
--   rests on: columnRenameClause
-- undo: ALTER TABLE `ods`.`orders` RENAME COLUMN `remark` TO `note`;
--   rests on: columnRenameClause

-- the field that parts the table gets another name
-- refused: fieldName: unsupported_by_dialect: dt parts the table, and its partitions are made by that name

-- a field is dropped
-- drops the field note of orders with its values (metadata, brief, destroys)
ALTER TABLE `ods`.`orders` DROP COLUMN `note`;
--   rests on: dropColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` ADD COLUMN `note` VARCHAR(64) NULL DEFAULT "x""y'z\\" COMMENT "it's a note" AFTER `dt`;
--   rests on: addColumn
--   asks: SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`;

-- a field of the key is dropped
-- refused: fieldName: unsupported_by_dialect: id belongs to the key; without it rows would be put together or lie elsewhere

-- the number of buckets changes
-- redistributes orders into 32 buckets (rewrite, unknown)
ALTER TABLE `ods`.`orders` DISTRIBUTED BY HASH (`id`) BUCKETS 32;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DISTRIBUTED BY HASH (`id`) BUCKETS 10;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;

-- the number of buckets is what it was
-- refused: bucketNum: invalid_value: orders has 10 buckets already; nothing would change

-- rows that are spread by chance get other buckets
-- redistributes orders into 32 buckets (rewrite, unknown)
ALTER TABLE `ods`.`orders` DISTRIBUTED BY RANDOM BUCKETS 32;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DISTRIBUTED BY RANDOM BUCKETS 10;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;

-- a table without partitions gets other buckets
-- redistributes orders into 32 buckets (rewrite, unknown)
ALTER TABLE `ods`.`orders` DISTRIBUTED BY HASH (`id`) BUCKETS 32;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;
-- undo: ALTER TABLE `ods`.`orders` DISTRIBUTED BY HASH (`id`) BUCKETS 10;
--   rests on: optimizeClause
--   asks: SHOW ALTER TABLE OPTIMIZE FROM `ods` WHERE TableName = "orders" ORDER BY JobId DESC LIMIT 1;
--   stops: CANCEL ALTER TABLE OPTIMIZE FROM `ods`.`orders`;

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
-- note: replicaNum: StarRocks makes or removes the copies in the background; that takes as long as the data is large

-- the number of copies is what it was
-- refused: replicaNum: invalid_value: orders has 3 copies already; nothing would change

-- partitions have different numbers of copies
-- sets the copies of all partitions of orders to 3 (metadata, brief)
ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET ("replication_num" = "3");
--   rests on: modifyPartition
-- sets the copies of the partitions to come of orders to 3 (metadata, brief)
ALTER TABLE `ods`.`orders` SET ("default.replication_num" = "3");
--   rests on: setProperties
-- note: replicaNum: StarRocks makes or removes the copies in the background; that takes as long as the data is large

-- an old server cannot rename fields
-- refused: fieldName: unsupported_by_dialect: StarRocks 3.0.9 cannot rename fields; 3.3.2 can

-- an old server cannot change a table's comment
-- refused: tableComment: unsupported_by_dialect: StarRocks 3.0.9 cannot change the comment of a table; 3.1 can

-- an old server cannot change buckets
-- refused: bucketNum: unsupported_by_dialect: StarRocks 3.0.9 cannot change the number of buckets; 3.2 can

