/// The conditions of a request, and the verdict on them (RFC 9110, section 13).
package struct Preconditions: Equatable, Sendable {
    /// The lines of each field, as they came; empty if the field is absent.
    var ifMatch: [String] = []
    var ifNoneMatch: [String] = []
    var ifModifiedSince: [String] = []
    var ifUnmodifiedSince: [String] = []

    /// No condition.
    package static let none = Preconditions()

    package enum Verdict: Equatable, Sendable {
        case proceed
        /// 304.
        case notModified
        /// 412.
        case failed
        /// 400: a condition that cannot be read, and whose neglect could destroy something. Names the field.
        case malformed(String)
    }

    /// Decides by the order of section 13.2.2.
    ///
    /// Call it when the request would succeed without conditions: the right to be there and the form of the request
    /// are checked before. If there is no representation, only `PUT` can succeed, so for all others the verdict is
    /// `proceed`, which leads to the 404. `If-Range` is not looked at here; ``ByteRanges`` does that afterwards.
    package func verdict(method: String, current: Validators?, now: HTTPDate) -> Verdict {
        guard !["CONNECT", "OPTIONS", "TRACE"].contains(method) else { return .proceed }
        guard current != nil || method == "PUT" else { return .proceed }
        let isReading = method == "GET" || method == "HEAD"

        if !self.ifMatch.isEmpty {
            guard let condition = EntityTagCondition(fieldLines: self.ifMatch) else { return .malformed("If-Match") }
            guard condition.isMet(by: current, comparison: { $0.matchesStrongly($1) }) else { return .failed }
        } else if let modified = current?.lastModified, let since = Self.date(self.ifUnmodifiedSince, now) {
            guard modified <= since else { return .failed }
        }

        if !self.ifNoneMatch.isEmpty {
            guard let condition = EntityTagCondition(fieldLines: self.ifNoneMatch) else {
                // A reader only loses the benefit of its cache.
                return isReading ? .proceed : .malformed("If-None-Match")
            }
            if condition.isMet(by: current, comparison: { $0.matchesWeakly($1) }) {
                return isReading ? .notModified : .failed
            }
        } else if isReading, let modified = current?.lastModified, let since = Self.date(self.ifModifiedSince, now) {
            guard modified > since else { return .notModified }
        }
        return .proceed
    }

    /// Whether the request demands that nothing be there (`If-None-Match: *`).
    var requireAbsence: Bool { EntityTagCondition(fieldLines: self.ifNoneMatch) == .any }

    /// A field that is no date, or that comes more than once, is ignored.
    private static func date(_ lines: [String], _ now: HTTPDate) -> HTTPDate? {
        lines.count == 1 ? HTTPDate(lines[0], now: now) : nil
    }
}

/// Tells one state of a representation from another.
package struct Validators: Equatable, Sendable {
    package var entityTag: EntityTag?
    package var lastModified: HTTPDate?
}

extension Preconditions {
    /// Takes the fields of a request; `lines`: those of a field by its name.
    package init(_ lines: (String) -> [String]) {
        self.init(
            ifMatch: lines("If-Match"),
            ifNoneMatch: lines("If-None-Match"),
            ifModifiedSince: lines("If-Modified-Since"),
            ifUnmodifiedSince: lines("If-Unmodified-Since")
        )
    }
}

extension EntityTagCondition {
    func isMet(by current: Validators?, comparison: (EntityTag, EntityTag) -> Bool) -> Bool {
        guard let current else { return false }
        switch self {
        case .any: return true
        case .tags(let tags):
            guard let tag = current.entityTag else { return false }
            return tags.contains { comparison($0, tag) }
        }
    }
}
