internal import CRDTCore
internal import PeerdKit

/// A person in the workspace.
package struct PersonAnswer: Answer {
    package var id: String
    package var name: String
    package var isYou: Bool
    package var isFounder: Bool
    package var isVerified: Bool

    init(_ person: Person) {
        (self.id, self.name, self.isYou, self.isFounder) = (person.id, person.name, person.isYou, person.isFounder)
        self.isVerified = person.isVerified
    }
}

package struct PersonList: Answer {
    package var users: [Entry]

    package struct Entry: Answer {
        package var id: String
        package var name: String
        package var isYou: Bool
        package var isFounder: Bool
        package var isVerified: Bool
        /// What to compare with the person; nil for whoever created the workspace.
        package var words: String?

        init(_ person: Person, words: String?) {
            (self.id, self.name, self.isYou, self.isFounder) = (person.id, person.name, person.isYou, person.isFounder)
            (self.isVerified, self.words) = (person.isVerified, words)
        }
    }
}

/// Who has access to an object.
package struct AccessAnswer: Answer {
    package var object: String
    /// The object that is shared: itself, or one above it; nil if only the owner has access.
    package var shared: String?
    package var access: [Entry]
    /// The properties that are hidden from some of them.
    package var hidden: [HiddenAnswer]
    /// Who has a copy that does not change with it, from when machines moved it at once; or, as its owner, another
    /// one of this id.
    package var copies: [Entry]
    /// Whether the owner's machines say that this user has no access any more.
    package var hasEnded: Bool

    package struct Entry: Answer {
        package var user: PersonAnswer
        package var role: Word<Role>
        /// The properties that the person may write, if not all.
        package var properties: [String]?

        init(_ access: PersonAccess) {
            self.user = PersonAnswer(access.person)
            self.role = Word(Role(rawValue: access.role.rawValue) ?? .read)
            self.properties = access.properties
        }
    }

    /// A property that is hidden from some who read the object.
    package struct HiddenAnswer: Answer {
        package var name: String
        package var access: [Entry]

        init(_ property: HiddenProperty) {
            (self.name, self.access) = (property.name, property.people.map { Entry($0) })
        }
    }

    package enum Role: String, CaseIterable, Sendable {
        case owner, manage, write, read
    }

    /// `object`: the one that was asked for; nil for one that is shared by itself.
    init(_ report: AccessReport, of object: ObjectID?) {
        self.shared = report.shared?.description
        self.object = object?.description ?? self.shared ?? ""
        self.hasEnded = report.hasEnded
        self.hidden = report.hidden.map { HiddenAnswer($0) }
        (self.access, self.copies) = (report.people.map { Entry($0) }, report.copies.map { Entry($0) })
    }
}

package struct AccessList: Answer {
    package var shares: [AccessAnswer]
}

/// What a person may do with an object, and why.
package struct AccessExplanationAnswer: Answer {
    package var user: PersonAnswer
    package var read: Decision
    package var write: Decision

    package struct Decision: Answer {
        package var allowed: Bool
        package var reason: Word<Reason>
        /// What was said that decides; nil if nothing was.
        package var statement: Statement?

        init(_ decision: AccessDecision) {
            self.allowed = decision.isAllowed
            self.reason = Word(rawValue: decision.reason.rawValue.replacing(" ", with: "_"))
            self.statement = decision.statement.map { Statement($0) }
        }
    }

    package struct Statement: Answer {
        package var change: String
        package var user: PersonAnswer
        package var device: String
        package var timeMs: Int64

        init(_ statement: AccessDecision.Statement) {
            (self.change, self.user) = (statement.change, PersonAnswer(statement.person))
            (self.device, self.timeMs) = (statement.machine, statement.date.millisecondsSince1970)
        }
    }

    package enum Reason: String, CaseIterable, Sendable {
        case owner, granted, removed, hidden
        case lessGranted = "less_granted"
        case notGranted = "not_granted"
    }

    init(_ explanation: AccessExplanation) {
        self.user = PersonAnswer(explanation.person)
        (self.read, self.write) = (Decision(explanation.reading), Decision(explanation.writing))
    }
}

/// An edit that counts nowhere.
package struct RejectedEditAnswer: Answer {
    package var edit: LogEntryAnswer
    package var change: String
    package var user: PersonAnswer
    package var reason: Word<Reason>

    package enum Reason: String, CaseIterable, Sendable {
        case removed
        case machineRemoved = "machine_removed"
        case lessGranted = "less_granted"
        case notGranted = "not_granted"
    }

    init(_ edit: RejectedEdit) {
        (self.edit, self.change) = (LogEntryAnswer(edit.entry), edit.change)
        self.user = PersonAnswer(edit.person)
        self.reason = Word(rawValue: edit.reason.rawValue.replacing(" ", with: "_"))
    }
}

package struct RejectedPageAnswer: Answer {
    package var edits: [RejectedEditAnswer]
    package var next: String?

    init(_ page: RejectedPage) {
        (self.edits, self.next) = (page.edits.map { RejectedEditAnswer($0) }, page.next?.text)
    }
}

/// How many edits were made of some that were rejected.
package struct AdoptionAnswer: Answer {
    package var adopted: Int
}
