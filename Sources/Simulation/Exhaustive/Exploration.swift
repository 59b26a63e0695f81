/// What one exhaustive search came to.
package struct Exploration: Sendable {
    /// What was searched.
    package var scope: Scope
    /// How many cases there were.
    package var caseCount = 0
    /// What was counted besides, for people.
    package var details: [String] = []
    /// The first findings, in the order of the cases.
    package private(set) var findings: [ExhaustiveFinding] = []
    package private(set) var findingCount = 0

    /// The small worlds there are.
    package enum Scope: String, CaseIterable, Sendable {
        case trees
        case existence
        case forks
        case rights
        case crashes
        case cuts
    }

    private static let findingCountMax = 20

    package init(_ scope: Scope) { self.scope = scope }

    /// Whether a further finding would be kept, and not only counted.
    var wantsMore: Bool { self.findings.count < Exploration.findingCountMax }

    package mutating func find(_ property: CheckedProperty, in name: String, _ message: String) {
        self.findingCount += 1
        guard self.wantsMore else { return }
        self.findings.append(ExhaustiveFinding(property: property, caseName: name, message: message))
    }

    /// Takes in what was found in another part of the same search.
    package mutating func add(_ part: Exploration) {
        self.caseCount += part.caseCount
        self.findingCount += part.findingCount
        self.findings += part.findings.prefix(max(0, Exploration.findingCountMax - self.findings.count))
    }
}

/// A case in which a property did not hold.
package struct ExhaustiveFinding: Hashable, Sendable {
    package var property: CheckedProperty
    /// The case, in the words that replay it.
    package var caseName: String
    package var message: String
}

/// A case name that means nothing.
package struct UnknownCase: Error, CustomStringConvertible {
    package var name: String
    package var description: String { "There is no case “\(self.name)”." }
}
