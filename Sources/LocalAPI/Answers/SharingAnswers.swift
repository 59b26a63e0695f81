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

    package struct Entry: Answer {
        package var user: PersonAnswer
        package var role: Word<Role>
    }

    package enum Role: String, CaseIterable, Sendable {
        case owner, manage, write, read
    }

    init(_ report: AccessReport, of object: ObjectID) {
        (self.object, self.shared) = (object.description, report.shared?.description)
        self.access = report.people.map { access in
            Entry(user: PersonAnswer(access.person), role: Word(Role(rawValue: access.role.rawValue) ?? .read))
        }
    }
}
