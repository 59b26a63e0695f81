internal import PeerdKit

extension ImportFile {
    /// Also the help text of `import`.
    static let formatHelp = """
        FILE.json is what "peerd export" wrote, or any JSON array of objects with these members:
          type         what the object is; needed for new objects
          kind         a finer distinction, if wanted
          id           a UUID that the object is to have; or
          key          text from which, with the type, the id is derived: importing it again, here or on another \
        machine, meets the same object. With neither, the id is random
          parent       id of the object it belongs under: of this file, or of the workspace; or
          parent_key   key of that object, with parent_type where several types have this key. With neither, the \
        object stands at the root
          position     where it stands among its siblings, compared as text; with none, in the order of the file
          properties   {name: value}
        The other members of an export are not taken over: the import is a new edit by this machine. Objects that are \
        there already get the file's properties and place.
        """
}
