internal import PeerdKit

extension ImportFile {
    /// Also the help text of `import`.
    static let formatHelp = """
        FILE.json is the output of "peerd export", or any JSON array of objects with these members:
          type         the type of the object; required for new objects
          kind         a finer distinction within the type; optional
          id           a UUID for the object; or
          key          text from which, with the user and the type, the id is derived: importing it again, here or on \
        another machine of the user, gives the same object. Without id and key, the id is random
          parent       id of the parent, an object of this file or of the workspace; or
          parent_key   key of the parent, with parent_type if several types have this key. Without parent and \
        parent_key it stands at the root; so it does with a parent that is nowhere (as in a part of another \
        workspace), and the import tells of that
          position     the place among its siblings, compared as text; without it, the order of the file
          properties   {name: value}
        A file whose form is wrong is refused before anything is written. The import ignores the other members of an \
        export: it is a new edit by this machine. Objects that already exist get the properties and the place of the \
        file.
        """
}
