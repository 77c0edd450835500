use super::*;

fn judged(parser: SqlParser, sql: &str) -> Result<Judged, String> {
    let readings: &[Lexing] = match parser {
        SqlParser::Sqlite | SqlParser::Ansi => &[Lexing::SQLITE],
        SqlParser::Postgres => &[Lexing::POSTGRES],
        SqlParser::MySql => &[Lexing::MYSQL],
    };
    let allowed = |object: &Object| {
        matches!(
            object.dotted().as_str(),
            "orders" | "main.orders" | "pragma_table_xinfo" | "generate_series"
        )
    };
    let functions = Functions::new("mine", &[list_of(parser).to_owned()], &["secret_function".to_owned()]);
    let heads = ["SHOW FULL COLUMNS".to_owned()];
    let guard = Guard {
        parser: Some(parser),
        readings,
        functions: &functions,
        author: Author::Dialect,
        heads: &heads,
        allowed: &allowed,
    };
    guard.check(sql).map_err(|error| {
        assert_eq!(error.code, "guard_refused");
        assert_eq!(error.context[0].0, "rule");
        error.context[0].1.clone()
    })
}

fn list_of(parser: SqlParser) -> &'static str {
    match parser {
        SqlParser::Sqlite => "sqlite",
        SqlParser::Postgres => "postgres",
        SqlParser::MySql => "mysql",
        SqlParser::Ansi => "ansi",
    }
}

const ALL: [SqlParser; 4] = [SqlParser::Sqlite, SqlParser::Postgres, SqlParser::MySql, SqlParser::Ansi];

#[test]
fn reading_statements_pass_in_every_dialect() {
    for sql in [
        "SELECT 1",
        "SELECT a, count(*) FROM orders WHERE b = 'it''s' GROUP BY a ORDER BY 2 LIMIT 3",
        "WITH x AS (SELECT a FROM orders), y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
        "SELECT * FROM orders WHERE a IN (SELECT a FROM orders) AND EXISTS (SELECT 1 FROM orders)",
        "SELECT a FROM orders UNION ALL SELECT b FROM orders",
        "SELECT 1; ",
        "SELECT /* why */ a -- because\nFROM orders",
        "EXPLAIN SELECT a FROM orders",
    ] {
        for parser in ALL {
            let judged = judged(parser, sql);
            assert!(judged.is_ok(), "{parser:?} {sql}: {judged:?}");
        }
    }
}

#[test]
fn what_does_more_than_read_is_refused() {
    for sql in [
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1)",
        "UPDATE orders SET a = 1",
        "DROP TABLE orders",
        "CREATE TABLE x (a INT)",
        "ALTER TABLE orders ADD COLUMN x INT",
        "GRANT SELECT ON orders TO bob",
        "SET x = 1",
        "EXPLAIN DELETE FROM orders",
    ] {
        for parser in ALL {
            let rule = judged(parser, sql).expect_err(sql);
            assert!(matches!(rule.as_str(), "reads_only" | "parse"), "{parser:?} {sql}: {rule}");
        }
    }
    for (parser, sql) in [
        (SqlParser::Postgres, "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x"),
        (SqlParser::Postgres, "WITH x AS (INSERT INTO orders VALUES (1) RETURNING *) SELECT * FROM x"),
        (SqlParser::Postgres, "SELECT * INTO copy FROM orders"),
        (SqlParser::Postgres, "SELECT * FROM orders FOR UPDATE"),
        (SqlParser::Postgres, "SELECT * FROM (SELECT * FROM orders FOR SHARE) x"),
        (SqlParser::MySql, "SELECT * FROM orders FOR UPDATE"),
    ] {
        assert_eq!(judged(parser, sql), Err("reads_only".to_owned()), "{sql}");
    }
    for (parser, sql) in [
        (SqlParser::MySql, "SELECT * FROM orders INTO OUTFILE '/tmp/x'"),
        (SqlParser::Postgres, "COPY orders TO '/tmp/x'"),
        (SqlParser::Sqlite, "ATTACH 'x' AS y"),
        (SqlParser::Sqlite, "PRAGMA writable_schema = 1"),
        (SqlParser::Sqlite, "VACUUM INTO 'x'"),
    ] {
        assert!(judged(parser, sql).is_err(), "{sql}");
    }
}

#[test]
fn one_statement_alone() {
    for sql in ["SELECT 1; DROP TABLE orders", "SELECT 1;;", "SELECT 1; SELECT 2", "", ";", "-- nothing"] {
        for parser in ALL {
            assert_eq!(judged(parser, sql), Err("one_statement".to_owned()), "{parser:?} {sql:?}");
        }
    }
    // PostgreSQL ends the comment at the carriage return, and so does the guard.
    let hidden = "SELECT 1 -- \r; DROP TABLE orders";
    assert_eq!(judged(SqlParser::Postgres, hidden), Err("one_statement".to_owned()));
    let unescaped = r"SELECT 'x\'; DROP TABLE orders; -- '";
    assert_eq!(judged(SqlParser::Sqlite, unescaped), Err("one_statement".to_owned()));
}

#[test]
fn only_permitted_objects() {
    for sql in [
        "SELECT * FROM users",
        "SELECT * FROM other.orders",
        "SELECT (SELECT max(id) FROM users)",
        "SELECT * FROM orders JOIN users USING (id)",
        "WITH x AS (SELECT * FROM users) SELECT 1",
        // The name of an expression is valid in its scope only.
        "WITH x AS (SELECT * FROM users), users AS (SELECT 1) SELECT * FROM x",
        "SELECT * FROM (WITH users AS (SELECT 1) SELECT * FROM users) a, users",
        "WITH users AS (SELECT * FROM users) SELECT * FROM users",
        "SELECT * FROM main.users, (WITH users AS (SELECT 1) SELECT 1) x",
    ] {
        for parser in ALL {
            assert_eq!(judged(parser, sql), Err("not_permitted".to_owned()), "{parser:?} {sql}");
        }
    }
    let quoted = "WITH \"Orders2\" AS (SELECT 1) SELECT * FROM orders2";
    assert_eq!(judged(SqlParser::Postgres, quoted), Err("not_permitted".to_owned()));
    assert!(judged(SqlParser::Sqlite, quoted).is_ok());
    assert!(judged(SqlParser::Sqlite, "SELECT * FROM pragma_table_xinfo('orders')").is_ok());
    let other = "SELECT * FROM pragma_database_list()";
    assert_eq!(judged(SqlParser::Sqlite, other), Err("not_permitted".to_owned()));
    assert_eq!(judged(SqlParser::Sqlite, "SELECT * FROM 'users'"), Err("not_permitted".to_owned()));
    for sql in ["SELECT * FROM ONLY orders", "TABLE orders", "SELECT 1 UNION TABLE users"] {
        assert!(judged(SqlParser::Postgres, sql).is_err(), "{sql}");
    }
}

#[test]
fn denied_functions_wherever_they_stand() {
    for (parser, sql) in [
        (SqlParser::Sqlite, "SELECT load_extension('x')"),
        (SqlParser::Sqlite, "SELECT * FROM orders ORDER BY \"LOAD_EXTENSION\"('x')"),
        (SqlParser::Sqlite, "SELECT secret_function()"),
        (SqlParser::Postgres, "SELECT pg_catalog.pg_sleep(100)"),
        (SqlParser::Postgres, "SELECT * FROM pg_read_file('/etc/passwd')"),
        (SqlParser::Postgres, "SELECT * FROM orders, LATERAL pg_ls_dir('.') x"),
        (SqlParser::Postgres, "SELECT count(*) FILTER (WHERE pg_sleep(1) IS NULL) FROM orders"),
        (SqlParser::Postgres, "SELECT 1 FROM orders GROUP BY 1 HAVING set_config('a', 'b', false) = 'b'"),
        (SqlParser::Postgres, "SELECT query_to_xml('DELETE FROM orders', true, true, '')"),
        (SqlParser::Postgres, "SELECT 1 LIMIT (SELECT pg_sleep(1))"),
        (SqlParser::MySql, "SELECT sleep(10)"),
        (SqlParser::MySql, "SELECT CASE WHEN load_file('/etc/passwd') IS NULL THEN 1 END"),
        (SqlParser::MySql, "SELECT sum(1) OVER (PARTITION BY benchmark(1, 1)) FROM orders"),
        (SqlParser::MySql, "SELECT * FROM orders WHERE a = (SELECT get_lock('a', 1))"),
    ] {
        assert_eq!(judged(parser, sql), Err("denied_function".to_owned()), "{sql}");
    }
    assert!(judged(SqlParser::Postgres, "SELECT U&\"pg\\005fsleep\"(1)").is_err());
}

#[test]
fn comments_that_servers_run_are_refused_everywhere() {
    for parser in ALL {
        for sql in ["SELECT 1 /*!50000 , sleep(1) */", "SELECT 1 /*M! x */", "/*!SELECT*/ 1"] {
            assert_eq!(judged(parser, sql), Err("parse".to_owned()), "{parser:?} {sql}");
        }
    }
    let judged = judged(SqlParser::Sqlite, "SELECT 'a /* b' /* c */ FROM orders -- d").expect("reads");
    assert_eq!(judged.sql, "SELECT 'a /* b'         FROM orders     ");
}

#[test]
fn what_no_parser_reads_must_begin_as_declared() {
    let judged_show = judged(SqlParser::MySql, "SHOW FULL COLUMNS FROM orders").expect("declared");
    assert!(!judged_show.parsed);
    assert!(judged(SqlParser::MySql, "SHOW PROCESSLIST").is_err());
    assert!(judged(SqlParser::MySql, "SHOW FULL COLUMNS FROM orders; DROP TABLE orders").is_err());
    assert!(judged(SqlParser::MySql, "SHOW FULL COLUMNS FROM orders INTO OUTFILE 'x'").is_err());
}

#[test]
fn settings_that_move_the_end_of_a_literal_are_seen() {
    let readings = [Lexing::MYSQL, Lexing::MYSQL_PLAIN];
    let functions = Functions::new("mysql", &["mysql".to_owned()], &[]);
    let guard = Guard {
        parser: Some(SqlParser::MySql),
        readings: &readings,
        functions: &functions,
        author: Author::User,
        heads: &[],
        allowed: &|_| true,
    };
    assert!(guard.check(r"SELECT 'a\', sleep(1), ' '").is_err());
    assert!(guard.check("SELECT 'it''s'").is_ok());
    // The parser takes backslashes for escapes; a server that does not must not get the text.
    let plain = Guard { readings: &readings[1..], ..guard };
    assert!(plain.check(r"SELECT 'a\', 'b'").is_err());
}

#[test]
fn positions_count_characters_from_one() {
    let functions = Functions::new("sqlite", &["sqlite".to_owned()], &[]);
    let guard = Guard {
        parser: Some(SqlParser::Sqlite),
        readings: &[Lexing::SQLITE],
        functions: &functions,
        author: Author::User,
        heads: &[],
        allowed: &|_| false,
    };
    let position = |sql: &str| {
        let error = guard.check(sql).expect_err("refused");
        error.context.iter().find(|(name, _)| name == "position").map(|(_, at)| at.clone())
    };
    assert_eq!(position("SELECT 'é',\n a FROM users").as_deref(), Some("21"));
    assert_eq!(position("SELECT 1; SELECT 2").as_deref(), Some("11"));
    assert_eq!(position("SELECT /* 订单 */ a FROM users").as_deref(), Some("24"));
    assert_eq!(position("SELECT 1 FROM FROM x").as_deref().map(|at| at.parse::<u32>().is_ok()), Some(true));
}

#[test]
fn a_small_stack_is_enough_for_the_deepest_statement() {
    const SMALL_STACK_BYTES: usize = 128 * 1024;
    let deep = |depth: usize| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    let judge = move || (judged(SqlParser::Sqlite, &deep(40)), judged(SqlParser::Sqlite, &deep(200)));
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK_BYTES).spawn(judge);
    let (within, beyond) = thread.expect("starts").join().expect("the stack is enough");
    assert!(within.is_ok(), "{within:?}");
    assert_eq!(beyond, Err("parse".to_owned()));
}

#[test]
fn sqlite_makes_no_large_values_out_of_nothing() {
    for call in ["zeroblob(9)", "RandomBlob(9)", "printf('%.*c', 9, 'x')", "\"format\"('%d', 9)"] {
        let sql = format!("SELECT length({call})");
        assert_eq!(judged(SqlParser::Sqlite, &sql), Err("denied_function".to_owned()), "{sql}");
    }
    assert!(judged(SqlParser::Postgres, "SELECT format('%s', 1)").is_ok());
}

#[test]
fn large_and_deep_statements_end_in_an_answer() {
    let wide = format!("SELECT {}", vec!["1"; 9_000].join("+"));
    assert!(judged(SqlParser::Sqlite, &wide).is_ok());
    let longer = format!("SELECT {}", vec!["1"; 30_000].join("+"));
    assert_eq!(judged(SqlParser::Sqlite, &longer), Err("parse".to_owned()));
    for depth in [1_000, 9_000] {
        let deep = format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(judged(SqlParser::Sqlite, &deep), Err("parse".to_owned()));
    }
    let nots = format!("SELECT {} 1", "NOT ".repeat(15_000));
    assert!(judged(SqlParser::Sqlite, &nots).is_err());
    // A level in each byte: the stack is as long as the text asks for.
    for levels in [10, 100, 1_000, 5_000, 18_000] {
        for sql in [
            format!("SELECT 1{}", "!".repeat(levels)),
            format!("SELECT {}1", "~".repeat(levels)),
            format!("SELECT {}1", "+ ".repeat(levels)),
            format!("SELECT a{}", "[1]".repeat(levels)),
            format!("SELECT 1{}", "::int".repeat(levels)),
        ] {
            let _ = judged(SqlParser::Postgres, &sql);
            let _ = judged(SqlParser::Sqlite, &sql);
        }
    }
}

/// The cases of `cases/`, by the list of functions, and the lexing of its servers.
pub(super) const CASES: [(&str, SqlParser, Lexing, &str); 5] = [
    ("sqlite", SqlParser::Sqlite, Lexing::SQLITE, include_str!("../cases/sqlite.txt")),
    ("postgres", SqlParser::Postgres, Lexing::POSTGRES, include_str!("../cases/postgres.txt")),
    ("mysql", SqlParser::MySql, Lexing::MYSQL, include_str!("../cases/mysql.txt")),
    ("doris", SqlParser::MySql, Lexing::MYSQL, include_str!("../cases/doris.txt")),
    ("ansi", SqlParser::Ansi, Lexing::POSTGRES, include_str!("../cases/ansi.txt")),
];

/// The tables that the cases may read.
pub(super) fn is_sample(object: &Object) -> bool {
    let is_named = |name: &str| ["orders", "customers", "items", "notes"].contains(&name);
    match object.parts.as_slice() {
        _ if object.function => false,
        [name] => is_named(name),
        [database, name] => matches!(database.as_str(), "shop" | "main") && is_named(name),
        _ => false,
    }
}

#[test]
fn users_statements_are_judged_as_the_cases_say() {
    let mut wrong = Vec::new();
    for (list, parser, lexing, cases) in CASES {
        let functions = Functions::new(list, &[list.to_owned()], &[]);
        let guard = Guard {
            parser: Some(parser),
            readings: &[lexing],
            functions: &functions,
            author: Author::User,
            heads: &[],
            allowed: &is_sample,
        };
        for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (verdict, sql) = line.split_once(": ").expect("a verdict and a statement");
            let said = match guard.check(sql) {
                Ok(_) => "allowed".to_owned(),
                Err(error) => error.context[0].1.clone(),
            };
            if said != verdict && (verdict != "refused" || said == "allowed") {
                let why = guard.check(sql).err().map(|error| error.message).unwrap_or_default();
                wrong.push(format!("{list}: {said} and not {line}\n    {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_refusal_names_the_function_and_the_setting() {
    let functions = Functions::new("warehouse", &["postgres".to_owned()], &[]);
    let guard = Guard {
        parser: Some(SqlParser::Postgres),
        readings: &[Lexing::POSTGRES],
        functions: &functions,
        author: Author::User,
        heads: &[],
        allowed: &is_sample,
    };
    let error = guard.check("SELECT 1, geo.distance(1, 2)").expect_err("not listed");
    assert!(error.message.contains("geo.distance") && error.message.contains("`warehouse:geo.distance`"));
    assert!(error.message.contains("sql_functions_allow"), "{}", error.message);
    assert!(error.context.contains(&("position".to_owned(), "11".to_owned())), "{:?}", error.context);
    let entries = ["warehouse:geo.distance".to_owned()];
    let added = crate::AddedFunctions::parse(&entries).expect("sound");
    let functions = functions.clone().allowing(&added);
    let allowing = Guard { functions: &functions, ..guard };
    assert!(allowing.check("SELECT 1, geo.distance(1, 2)").is_ok());
    assert!(allowing.check("SELECT * FROM geo.distance(1, 2)").is_ok());
    assert!(allowing.check("SELECT geo.distance2(1, 2)").is_err());
}

#[test]
fn keywords_before_parentheses_are_sorted() {
    assert!(BEFORE_PARENTHESES.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_parameter_of_a_user_has_no_value() {
    let check = |parser, author, sql: &str| {
        let reading = match parser {
            SqlParser::Sqlite | SqlParser::Ansi => Lexing::SQLITE,
            SqlParser::Postgres => Lexing::POSTGRES,
            SqlParser::MySql => Lexing::MYSQL,
        };
        let functions = Functions::new("mine", &[list_of(parser).to_owned()], &[]);
        let guard = Guard {
            parser: Some(parser),
            readings: &[reading],
            functions: &functions,
            author,
            heads: &[],
            allowed: &|_| true,
        };
        guard.check(sql).map_err(|error| error.message)
    };
    for (parser, sqls) in [
        (SqlParser::Sqlite, &["SELECT :a", "SELECT @x", "SELECT $x", "SELECT ?1", "SELECT ?"][..]),
        (SqlParser::Postgres, &["SELECT $1", "SELECT a FROM orders LIMIT $1"]),
        (SqlParser::MySql, &["SELECT ?", "SELECT a FROM orders WHERE a IN (1, ?)"]),
        (SqlParser::Ansi, &["SELECT ?", "SELECT :a"]),
    ] {
        for sql in sqls {
            let refused = check(parser, Author::User, sql).unwrap_err();
            assert!(refused.contains("has no value here"), "{parser:?} {sql}: {refused}");
        }
    }
    assert!(check(SqlParser::Sqlite, Author::Dialect, "SELECT ?").is_ok());
}
