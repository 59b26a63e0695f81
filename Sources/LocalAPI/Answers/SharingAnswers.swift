internal import CRDTCore
internal import PeerdKit

/// A person in the workspace.
package struct PersonAnswer: Answer {
    package var id: String
    package var name: String
    package var isYou: Bool
    package var isFounder: Bool

    init(_ person: Person) {
        (self.id, self.name, self.isYou, self.isFounder) = (person.id, person.name, person.isYou, person.isFounder)
    }
}

package struct PersonList: Answer {
    package var users: [PersonAnswer]
}

/// Who has access to an object.
package struct AccessAnswer: Answer {
    package var object: String
    /// The object that is shared: itself, or one above it; nil if only the owner has access.
    package var shared: String?
    package var access: [Entry]
    /// The properties that are hidden from some of them.
    package var hidden: [HiddenAnswer]
    /// Who has a copy that does not change with it, from when machines moved it at once.
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
