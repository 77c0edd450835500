use serde_json::json;

use super::*;

fn kinds() -> Vec<Kind> {
    let kind = |name: &str, transport, properties: Value| {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
        Kind::new(name.to_owned(), transport, schema.to_string())
    };
    vec![
        kind("sqlite", Transport::Sqlite, json!({})),
        kind("postgres", Transport::Postgres, json!({ "a": {} })),
        kind("mysql", Transport::MySql, json!({})),
        kind("doris", Transport::MySql, json!({ "replicas": { "type": "integer", "minimum": 1 } })),
    ]
}

fn of(value: Value) -> UpdateDatasource {
    serde_json::from_value(value).unwrap()
}

fn made(value: Value) -> Result<Wanted, Vec<Detail>> {
    wanted(of(value), None, &kinds())
}

fn changed(before: &Datasource, value: Value) -> Result<Wanted, Vec<Detail>> {
    wanted(of(value), Some(before), &kinds())
}

fn fields(outcome: Result<Wanted, Vec<Detail>>) -> Vec<String> {
    outcome.unwrap_err().into_iter().map(|detail| detail.field).collect()
}

/// A server with stored passwords.
fn known() -> Datasource {
    Datasource {
        id: 7,
        name: "sales".to_owned(),
        kind: "postgres".to_owned(),
        url: "postgres://ada@h:5432/d".to_owned(),
        read_url: Some("postgres://eve@h:5432/d".to_owned()),
        secret: Some(vec![1]),
        read_secret: Some(vec![2]),
        options: r#"{"a":1}"#.to_owned(),
        is_default: true,
        sync_cron: Some("0 0 0 * * ? *".to_owned()),
        next_sync_at_ms: None,
        last_sync_time_ms: None,
        created_at_ms: 1,
        updated_at_ms: 1,
    }
}

#[test]
fn every_wrong_member_is_named() {
    let form = json!({
        "name": "", "kind": "oracle", "syncCron": "0 0 25 * * ? *", "options": { "databases": ["x".repeat(20_000)] },
    });
    assert_eq!(fields(made(form)), ["name", "kind", "options", "syncCron"]);
    let kind = made(json!({ "name": "a", "kind": "oracle" })).unwrap_err().remove(0);
    assert!(kind.message.contains("sqlite, postgres, mysql, doris"), "{}", kind.message);
    for name in ["a\nb".to_owned(), " a".to_owned(), "x".repeat(101)] {
        assert_eq!(fields(made(json!({ "name": name, "kind": "sqlite", "url": "sqlite:a" }))), ["name"]);
    }
    assert!(made(json!({ "name": "表".repeat(100), "kind": "sqlite", "url": "sqlite:a" })).is_ok());
}

#[test]
fn a_file_has_an_address_and_nothing_else() {
    let base = json!({ "name": "a", "kind": "sqlite" });
    let with = |member: &str, value: Value| {
        let mut form = base.clone();
        form[member] = value;
        form
    };
    assert_eq!(fields(made(base.clone())), ["url"]);
    assert_eq!(fields(made(with("url", json!("postgres://u:hunter2@h/d")))), ["url"]);
    let mut form = with("url", json!("sqlite:a.db"));
    for (member, value) in [("host", json!("h")), ("port", json!(1)), ("database", json!("d"))] {
        form[member] = value;
    }
    for member in ["username", "password", "readUrl"] {
        form[member] = json!("hunter2");
    }
    let details = made(form).unwrap_err();
    let named: Vec<&str> = details.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(named, ["host", "port", "database", "username", "password", "readUrl"]);
    assert!(details.iter().all(|detail| !detail.message.contains("hunter2")));
    let mut empty = with("url", json!("sqlite:a.db"));
    for member in ["host", "username", "password"] {
        empty[member] = json!("");
    }
    assert!(made(empty).is_ok());
}

#[test]
fn an_address_is_made_of_its_parts() {
    let parts = json!({
        "name": "a", "kind": "postgres", "host": "h", "port": 6432, "database": "d/e", "username": "ada",
        "password": "hunter2", "options": { "a": [2], "databases": ["b"] },
    });
    let made_of_parts = made(parts).unwrap();
    assert_eq!(made_of_parts.url, "postgres://ada@h:6432/d%2Fe");
    assert!(matches!(&made_of_parts.password, Password::Set(secret) if secret.text() == Some("hunter2")));
    assert_eq!(made_of_parts.options, r#"{"a":[2],"databases":["b"]}"#);
    assert_eq!(fields(made(json!({ "name": "a", "kind": "postgres" }))), ["url"]);
    assert_eq!(fields(made(json!({ "name": "a", "kind": "postgres", "host": "a b" }))), ["host"]);
    let both = json!({ "name": "a", "kind": "postgres", "url": "postgres://h", "port": 1 });
    assert_eq!(fields(made(both)), ["url"]);
}

#[test]
fn no_password_stands_in_what_is_kept_or_shown() {
    let form = json!({
        "name": "a", "kind": "postgres", "url": "postgresql://ada:hunter2@h/d",
        "readUrl": "postgres://eve:hunter3@h/d",
    });
    let made = made(form).unwrap();
    assert_eq!(made.url, "postgresql://ada@h/d");
    assert_eq!(made.read_url.as_deref(), Some("postgres://eve@h/d"));
    assert!(matches!(&made.password, Password::Set(secret) if secret.text() == Some("hunter2")));
    assert!(matches!(&made.read_password, Password::Set(secret) if secret.text() == Some("hunter3")));
    let shown = format!("{made:?}");
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn what_is_absent_stays_and_null_clears() {
    let same = changed(&known(), json!({})).unwrap();
    assert_eq!((same.name.as_str(), same.url.as_str()), ("sales", "postgres://ada@h:5432/d"));
    assert!(matches!((&same.password, &same.read_password), (Password::Keep, Password::Keep)));
    assert_eq!((same.options.as_str(), same.is_default), (r#"{"a":1}"#, true));
    assert_eq!(same.sync_cron.as_deref(), Some("0 0 0 * * ? *"));

    let form = json!({
        "password": null, "readUrl": null, "options": null, "syncCron": null, "port": null, "database": null,
        "isDefault": false,
    });
    let cleared = changed(&known(), form).unwrap();
    assert_eq!(cleared.url, "postgres://ada@h");
    assert!(matches!((&cleared.password, &cleared.read_password), (Password::None, Password::None)));
    assert_eq!((cleared.read_url, cleared.sync_cron, cleared.is_default), (None, None, false));
    assert_eq!(cleared.options, "{}");
}

#[test]
fn changing_host_or_user_requires_the_password() {
    for form in [
        json!({ "host": "g" }),
        json!({ "port": 1 }),
        json!({ "username": "bob" }),
        json!({ "url": "postgres://ada@g:5432/d" }),
        json!({ "url": "postgres://h:5432/d" }),
        json!({ "url": "postgres://ada@h:5432/d?sslmode=disable" }),
    ] {
        assert_eq!(fields(changed(&known(), form.clone())), ["password"], "{form}");
        let mut with = form.clone();
        with["password"] = json!("new");
        assert!(matches!(changed(&known(), with).unwrap().password, Password::Set(_)), "{form}");
        let mut without = form.clone();
        without["password"] = Value::Null;
        assert!(matches!(changed(&known(), without).unwrap().password, Password::None), "{form}");
    }
    for form in [json!({ "database": "other" }), json!({ "url": "postgres://ada@h:5432/e?sslmode=require" })]
    {
        assert!(matches!(changed(&known(), form).unwrap().password, Password::Keep));
    }
    let in_url = changed(&known(), json!({ "url": "postgres://ada:new@g/d" })).unwrap();
    assert!(matches!(in_url.password, Password::Set(_)));
    assert_eq!(fields(changed(&known(), json!({ "readUrl": "postgres://eve@g/d" }))), ["readUrl"]);
    let same = changed(&known(), json!({ "readUrl": "postgres://eve@h:5432/e" })).unwrap();
    assert!(matches!(same.read_password, Password::Keep));
    let none = Datasource { secret: None, ..known() };
    assert!(matches!(changed(&none, json!({ "host": "g" })).unwrap().password, Password::None));
}

#[test]
fn another_kind_needs_another_address() {
    let wrong = changed(&known(), json!({ "kind": "sqlite" })).unwrap_err();
    assert_eq!(wrong[0].field, "kind");
    assert!(wrong[0].message.contains("kind postgres") && wrong[0].message.contains("sqlite:"), "{wrong:?}");
    let file = Datasource { kind: "sqlite".to_owned(), url: "sqlite:a.db".to_owned(), ..known() };
    assert_eq!(fields(changed(&file, json!({ "kind": "postgres" }))), ["kind"]);
    assert!(
        changed(&file, json!({ "kind": "postgres", "host": "h", "password": null, "readUrl": null })).is_ok()
    );
    let moved = changed(&known(), json!({ "kind": "sqlite", "url": "sqlite:a.db" })).unwrap();
    assert_eq!((moved.url.as_str(), moved.read_url), ("sqlite:a.db", None));
    assert!(matches!((moved.password, moved.read_password), (Password::None, Password::None)));
}

#[test]
fn databases_are_named_in_a_list() {
    for wrong in [json!("shop"), json!([]), json!([1]), json!([""]), json!({})] {
        assert_eq!(
            fields(changed(&known(), json!({ "options": { "databases": wrong } }))),
            ["options.databases"]
        );
    }
    let set = changed(&known(), json!({ "options": { "databases": ["a", "b"] } })).unwrap();
    assert_eq!(options::databases_named(&set.options), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(options::databases_named("{}"), None);
}

#[test]
fn unknown_options_are_refused_and_never_shown() {
    let form = |options: Value| json!({ "name": "a", "kind": "postgres", "host": "h", "options": options });
    let wrong = made(form(json!({ "a": 1, "password": "hunter2", "b": 1 }))).unwrap_err();
    let named: Vec<&str> = wrong.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(named, ["options.password", "options.b"]);
    assert!(wrong[0].message.ends_with("known: databases, a") && !format!("{wrong:?}").contains("hunter2"));
    assert_eq!(
        fields(made(json!({ "name": "a", "kind": "sqlite", "url": "sqlite:a", "options": { "a": 1 } }))),
        ["options.a"]
    );
    let stored =
        Datasource { options: r#"{"password":"hunter2","a":1,"databases":["b"]}"#.to_owned(), ..known() };
    assert_eq!(Value::Object(options::shown(&stored, &kinds())), json!({ "a": 1, "databases": ["b"] }));
    assert_eq!(Value::Object(options::shown(&stored, &[])), json!({ "databases": ["b"] }));
}

#[test]
fn options_have_the_types_that_their_dialect_says() {
    let form = |replicas: Value| {
        let options = json!({ "replicas": replicas, "databases": ["b"] });
        made(json!({ "name": "a", "kind": "doris", "host": "h", "options": options }))
    };
    assert_eq!(form(json!(3)).unwrap().options, r#"{"replicas":3,"databases":["b"]}"#);
    for wrong in [json!("3"), json!(0), json!(null)] {
        assert_eq!(fields(form(wrong)), ["options.replicas"]);
    }
    let without_own = json!({ "name": "a", "kind": "mysql", "host": "h", "options": { "databases": ["b"] } });
    assert_eq!(made(without_own).unwrap().options, r#"{"databases":["b"]}"#);
}

#[test]
fn another_kind_may_mean_another_port() {
    let stored = Datasource {
        kind: "mysql".to_owned(),
        url: "mysql://ada@h/d".to_owned(),
        read_url: Some("mysql://eve@h/d".to_owned()),
        ..known()
    };
    assert_eq!(fields(changed(&stored, json!({ "kind": "doris" }))), ["password", "readUrl"]);
    let whole = json!({ "kind": "doris", "password": "new", "readUrl": null });
    assert!(changed(&stored, whole).is_ok());
    let written = Datasource { url: "mysql://ada@h:3306/d".to_owned(), read_url: None, ..stored };
    assert!(matches!(changed(&written, json!({ "kind": "doris" })).unwrap().password, Password::Keep));
}

#[test]
fn renaming_works_without_an_active_dialect() {
    let renamed = wanted(of(json!({ "name": "b" })), Some(&known()), &[]).unwrap();
    assert_eq!((renamed.name.as_str(), renamed.url.as_str()), ("b", "postgres://ada@h:5432/d"));
    assert!(matches!(renamed.password, Password::Keep));
    assert_eq!(fields(wanted(of(json!({ "host": "g" })), Some(&known()), &[])), ["kind"]);
    assert_eq!(fields(changed(&known(), json!({ "kind": "oracle", "host": "g" }))), ["kind"]);
}

#[test]
fn the_servers_own_name_is_reserved_in_any_case() {
    assert!(is_reserved("lakeport") && is_reserved("LakePort"));
    assert!(!is_reserved("lakeport2"));
}

#[test]
fn only_servers_have_a_host() {
    let file = made(json!({ "name": "f", "kind": "sqlite", "url": "sqlite:a.db", "host": null })).unwrap();
    assert_eq!(file.url, "sqlite:a.db");
    assert_eq!(fields(changed(&known(), json!({ "host": null }))), ["host"]);
    let shown = json!({ "url": "postgres://ada@h:5432/d", "host": null });
    assert!(changed(&known(), shown).is_ok());
}
