//! The path of a member in a form.

/// A place in the form, as a chain on the stack: it costs nothing unless something is wrong there.
#[derive(Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Member(&'p str),
    Item(usize),
}

impl<'p> Path<'p> {
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub fn member<'c>(&'c self, name: &'c str) -> Path<'c> {
        Path { parent: Some(self), step: Step::Member(name) }
    }

    pub fn item(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Item(index) }
    }

    /// `task.inputs[2].name`
    pub fn render(&self) -> String {
        let mut text = self.parent.map(Path::render).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Member(name) if text.is_empty() => text.push_str(name),
            Step::Member(name) => text.extend([".", name]),
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
        text
    }
}
