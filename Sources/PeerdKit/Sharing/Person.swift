internal import CRDTCore
internal import Persistence

/// A person in the workspace, who may have several machines.
public struct Person: Identifiable, Hashable, Sendable, Codable {
    /// The id of the person, as hexadecimal text.
    public let id: String
    /// What whoever created the workspace calls the person; for himself, if he says nothing, the name of his first
    /// machine.
    public let name: String
    /// Tells whether it is the user of this machine.
    public let isYou: Bool
    /// Tells whether the person created the workspace.
    public let isFounder: Bool
    /// Tells whether whoever created the workspace has compared the words with the person; for himself always true.
    public let isVerified: Bool
}

/// What somebody may do with an object that is shared, and with everything below it.
public enum AccessRole: String, Hashable, Sendable, Codable, CaseIterable {
    /// Everything; nobody can take that away.
    case owner
    /// Read and write, and say who else may.
    case manage
    /// Read and write.
    case write
    /// Read.
    case read

    var role: Role? {
        switch self {
        case .owner: nil
        case .manage: .manager
        case .write: .writer
        case .read: .reader
        }
    }

    init(_ role: Role) {
        switch role {
        case .manager: self = .manage
        case .writer: self = .write
        case .reader: self = .read
        }
    }
}

/// The access of one person to an object.
public struct PersonAccess: Hashable, Sendable, Codable {
    /// The person.
    public let person: Person
    /// What the person may do.
    public let role: AccessRole
    /// The properties that the person may write, in the order of their names, if not all; nothing else then.
    public let properties: [String]?
}

/// Who has access to an object.
public struct AccessReport: Hashable, Sendable, Codable {
    /// The object that is shared: the one that was asked for, or one above it; nil if only you have access.
    public let shared: ObjectID?
    /// The people who have access, the owner first, the others by their names.
    public let people: [PersonAccess]
    /// The properties that are hidden from some of the people, by their names.
    public let hidden: [HiddenProperty]
    /// The people who have a copy of the object, which does not change with it: two machines moved it, or shared it,
    /// without knowing of each other.
    ///
    /// Sharing it with them again brings them here; ``Workspace/unshare(_:with:)`` takes the copy away, as moving or
    /// deleting the object does. An owner among them has one of his own: it shows once yours is deleted.
    public let copies: [PersonAccess]
    /// Tells whether the owner's machines say that you have no access any more: what is here stays, and nothing comes.
    public let hasEnded: Bool
}

/// The people of a workspace, as one state of a store knows them.
struct People {
    private(set) var all: [Person] = []
    /// Those who were let in once and are not any more.
    private var former: [Person] = []
    private var users: [String: UserID] = [:]
    private var verified: Set<UserID> = []
    private let founder: UserID
    private let user: UserID
    /// So many digits of an id may stand for it.
    static let idPrefixCountMin = 4

    /// `user`: who uses this machine.
    init(founder: UserID, user: UserID, in store: inout any StoreTransaction) throws(StoreError) {
        (self.founder, self.user) = (founder, user)
        // What somebody was called last counts, which is the same on all machines.
        var (names, formerNames): ([UserID: String], [UserID: String]) = ([:], [:])
        let rights = try store.judgedRights(founder: founder)
        if let roster = store.circles.index(of: .roster), let said = rights.rights(in: roster) {
            for grant in said.allGrants { formerNames[grant.user] = grant.name }
            var named: [(stamp: Stamp, grant: RightsStatement.Grant)] = []
            for (place, grant) in said.standingGrants() {
                named.append((try store.header(at: place.change)?.stamp ?? .zero, grant))
                if grant.role <= .writer { self.verified.insert(grant.user) }
            }
            named.sort { ($0.stamp, $0.grant.name) < ($1.stamp, $1.grant.name) }
            for (_, grant) in named { names[grant.user] = grant.name }
        }
        for user in formerNames.keys where names[user] == nil && user != founder && user != self.user {
            self.users[user.description] = user
            self.former.append(self.person(user, formerNames[user] ?? ""))
        }
        self.former.sort { ($0.name, $0.id) < ($1.name, $1.id) }
        for user in Set(names.keys).union([founder, user]) {
            self.users[user.description] = user
            let name = names[user] ?? ""
            self.all.append(self.person(user, name.isEmpty ? Self.machineName(of: user, in: store) : name))
        }
        self.all.sort { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    private static func machineName(of user: UserID, in store: some StoreTransaction) -> String {
        for segment in store.segmentIndices {
            if let introduction = store.segment(segment).introduction, introduction.user == user {
                return introduction.deviceName
            }
        }
        return ""
    }

    private func person(_ user: UserID, _ name: String) -> Person {
        Person(
            id: user.description,
            name: name,
            isYou: user == self.user,
            isFounder: user == self.founder,
            isVerified: user == self.founder || self.verified.contains(user)
        )
    }

    /// The person with an id, also if nobody lets him in any more.
    func person(_ user: UserID) -> Person {
        (self.all + self.former).first { $0.id == user.description } ?? self.person(user, "")
    }

    /// Whether a user was let in once and is not any more.
    func isFormer(_ user: UserID) -> Bool { self.former.contains { $0.id == user.description } }

    /// The user whom a name or an id means, who is in the workspace.
    ///
    /// Throws `noSuchPerson`.
    func member(_ text: String) throws -> UserID {
        let user = try self.user(text)
        guard self.isFormer(user) else { return user }
        throw PeerdError(
            .noSuchPerson,
            "“\(self.person(user).name.prefix(80))” was removed from the workspace.",
            advice: "Whoever created the workspace can let the person in again, with \"users readmit\"."
        )
    }

    /// The user whom a name or an id means.
    ///
    /// Throws `noSuchPerson`.
    func user(_ text: String) throws -> UserID {
        // Somebody who is let in no more may have something all the same.
        var named: [Person] = []
        for people in [self.all, self.former] where named.isEmpty {
            // Nobody is called by the whole of another one's id.
            named = people.filter { $0.id == text }
            if named.isEmpty { named = people.filter { $0.name == text } }
            if named.isEmpty, text.count >= Self.idPrefixCountMin { named = people.filter { $0.id.hasPrefix(text) } }
        }
        guard named.count == 1, let user = self.users[named[0].id] else {
            throw PeerdError(
                .noSuchPerson,
                named.isEmpty
                    ? "Nobody in the workspace is called “\(text.prefix(80))”."
                    : "Several people are called “\(text.prefix(80))”.",
                advice: named.isEmpty ? "Invite the person first, or see who is there." : "Name one by the id."
            )
        }
        return user
    }
}
