/// The version of a resource, for conditional requests (RFC 9110 §8.8.3).
struct EntityTag: Hashable, Sendable {
    /// With its quotation marks.
    let text: String

    init(_ version: String) { self.text = "\"\(version)\"" }

    /// Whether a condition of If-Match holds: one of its tags is strongly the same, or it is `*`.
    static func any(of fields: [String], match tag: EntityTag) -> Bool {
        self.tags(of: fields).contains { $0 == "*" || $0 == tag.text }
    }

    /// Whether a condition of If-None-Match fails: one of its tags is weakly the same, or it is `*`.
    static func none(of fields: [String], match tag: EntityTag) -> Bool {
        self.tags(of: fields).contains { $0 == "*" || $0 == tag.text || $0 == "W/\(tag.text)" }
    }

    /// The tags of a list; those of ours have no commas within.
    private static func tags(of fields: [String]) -> [String] {
        fields.flatMap { $0.split(separator: ",") }.map { field in
            var field = field
            while field.first == " " || field.first == "\t" { field.removeFirst() }
            while field.last == " " || field.last == "\t" { field.removeLast() }
            return String(field)
        }
    }
}
