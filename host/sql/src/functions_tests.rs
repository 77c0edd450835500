use super::*;

const SECTIONS: [&str; 10] = [
    "functions",
    "tables",
    "queries",
    "catalogue",
    "definitions",
    "variables",
    "words",
    "types",
    "schemas",
    "refused",
];

fn of(list: &str) -> Functions {
    Functions::new(list, &[list.to_owned()], &[])
}

fn parts(name: &str) -> Vec<String> {
    name.split('.').map(str::to_owned).collect()
}

#[test]
fn lists_are_sorted_unique_and_lower_case() {
    for (list, text) in TEXTS {
        assert!(text.starts_with('#'), "{list} names its source");
        for (section, names) in sections(text) {
            assert!(SECTIONS.contains(&section), "{list}: [{section}]");
            for pair in names.windows(2) {
                assert!(pair[0] < pair[1], "{list}: [{section}]: {} before {}", pair[0], pair[1]);
            }
            let is_lower = |name: &&&str| name.to_lowercase() == ***name;
            assert_eq!(names.iter().filter(is_lower).count(), names.len(), "{list}: [{section}]");
        }
    }
}

#[test]
fn no_list_allows_and_refuses_a_name() {
    for (list, lists) in LISTS.iter() {
        let mine = [&lists.functions, &lists.tables, &lists.queries];
        for other in [&lists.catalogue, &lists.definitions, &lists.refused, &lists.words] {
            let twice: Vec<_> = mine.iter().flat_map(|names| names.intersection(other)).collect();
            assert!(twice.is_empty(), "{list}: {twice:?}");
        }
        assert!(lists.catalogue.is_disjoint(&lists.refused) && lists.definitions.is_disjoint(&lists.refused));
    }
}

#[test]
fn each_author_has_its_lists() {
    let postgres = of("postgres");
    for (name, user, dialect, definition) in [
        ("lower", true, true, true),
        ("pg_catalog.lower", true, true, true),
        ("public.lower", false, false, false),
        ("pg_get_expr", false, true, false),
        ("nextval", false, false, true),
        ("pg_read_file", false, false, false),
    ] {
        let may = [Author::User, Author::Dialect, Author::Definition]
            .map(|author| postgres.may_call(author, &parts(name)));
        assert_eq!(may, [user, dialect, definition], "{name}");
    }
    let denying = Functions::new("mine", &["postgres".to_owned()], &["Lower".to_owned()]);
    assert!(!denying.may_call(Author::User, &parts("lower")));
    assert!(of("unheard").may_call(Author::User, &parts("count")), "the standard's list");
    assert!(!of("unheard").may_call(Author::User, &parts("pg_typeof")));
}

#[test]
fn the_setting_adds_exactly_what_it_names() {
    let entries = ["postgres:geo.distance", "postgres:shop.status", "mysql:shop.Margin"].map(str::to_owned);
    let added = AddedFunctions::parse(&entries).expect("sound");
    assert_eq!(added.to_string(), "mysql:shop.Margin,postgres:geo.distance,postgres:shop.status");
    let postgres = of("postgres").allowing(&added);
    assert!(postgres.may_call(Author::User, &parts("geo.distance")));
    assert!(postgres.may_be_table(Author::User, &parts("geo.distance")));
    assert!(postgres.may_call(Author::Definition, &parts("geo.distance")));
    assert!(postgres.may_cast_to(Author::User, &parts("shop.status")));
    for other in ["distance", "other.distance", "geo.Distance", "shop.margin"] {
        assert!(!postgres.may_call(Author::User, &parts(other)), "{other}");
    }
    assert!(!postgres.may_call(Author::Dialect, &parts("geo.distance")));
    let mysql = of("mysql").allowing(&added);
    assert!(mysql.may_call(Author::User, &parts("SHOP.margin")));
    assert!(!mysql.may_call(Author::User, &parts("geo.distance")));
}

#[test]
fn a_wrong_entry_of_the_setting_is_explained() {
    for (entry, expected) in [
        ("distance", "postgres:geo.distance"),
        ("postgres:", "postgres:geo.distance"),
        ("Postgres:a", "postgres:geo.distance"),
        ("postgres:a..b", "postgres:geo.distance"),
        ("postgres:a.b.c.d", "postgres:geo.distance"),
        ("postgres:a b", "postgres:geo.distance"),
        ("sqlite:load_extension", "no functions of its own"),
    ] {
        let wrong = AddedFunctions::parse(&[entry.to_owned()]).expect_err(entry);
        assert!(wrong.contains(expected) && wrong.contains(entry), "{wrong}");
    }
}
