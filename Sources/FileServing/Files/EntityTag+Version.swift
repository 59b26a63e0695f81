extension EntityTag {
    /// The tag of a version, which is made of letters and digits.
    package init(version: String) {
        guard let tag = EntityTag(version) else { preconditionFailure("a version can stand within quotes") }
        self = tag
    }

    /// Whether a condition of If-Match holds: one of its tags is strongly the same, or it is `*`.
    package static func any(of fields: [String], match tag: EntityTag) -> Bool {
        let condition = EntityTagCondition(fieldLines: fields)
        return condition?.isMet(by: Validators(entityTag: tag)) { $0.matchesStrongly($1) } ?? false
    }

    /// Whether a condition of If-None-Match fails: one of its tags is weakly the same, or it is `*`.
    package static func none(of fields: [String], match tag: EntityTag) -> Bool {
        let condition = EntityTagCondition(fieldLines: fields)
        return condition?.isMet(by: Validators(entityTag: tag)) { $0.matchesWeakly($1) } ?? false
    }
}
