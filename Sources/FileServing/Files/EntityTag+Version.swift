extension EntityTag {
    /// The tag of a version, which is made of letters and digits.
    package init(version: String) {
        guard let tag = EntityTag(version) else { preconditionFailure("a version can stand within quotes") }
        self = tag
    }

    /// Whether a condition of If-Match holds: one of its tags is strongly the same, or it is `*`.
    package static func any(of fields: [String], match tag: EntityTag) -> Bool {
        switch EntityTagCondition(fieldLines: fields) {
        case .any?: true
        case .tags(let tags)?: tags.contains { $0.matchesStrongly(tag) }
        case nil: false
        }
    }

    /// Whether a condition of If-None-Match fails: one of its tags is weakly the same, or it is `*`.
    package static func none(of fields: [String], match tag: EntityTag) -> Bool {
        switch EntityTagCondition(fieldLines: fields) {
        case .any?: true
        case .tags(let tags)?: tags.contains { $0.matchesWeakly(tag) }
        case nil: false
        }
    }
}
