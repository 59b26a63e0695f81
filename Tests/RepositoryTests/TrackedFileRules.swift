/// What may be in version control.
enum TrackedFileRules {
    /// Made by a build, or by an editor for one person.
    static func isArtifact(_ path: String) -> Bool {
        let parts = path.split(separator: "/")
        return parts.last == "Package.resolved" || path.hasSuffix(".pyc")
            || parts.contains { $0.hasPrefix(".build") || $0 == ".swiftpm" || $0 == "__pycache__" }
    }

    /// Folders of the machine someone happened to write on mean nothing to the next reader.
    static func privatePaths(in text: String) -> [String] {
        // In pieces, so that this file does not contain what it looks for.
        ["/" + "work/", "/" + "home/", "/" + "Users/"].filter(text.contains)
    }
}
