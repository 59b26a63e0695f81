internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import Persistence

extension Workspace {
    /// Returns four words that the person sees, too, and whoever created the workspace: if both read the same to each
    /// other, nobody stands between them who used the invite in the person's place.
    ///
    /// - Returns: the words with spaces between them; nil for whoever created the workspace.
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `closed`, or if the disk fails; `CancellationError`.
    public func comparisonWords(of person: String) async throws -> String? {
        let user = try await self.reading { transaction in
            var store: any StoreTransaction = transaction
            return try self.people(in: &store).user(person)
        }
        return user == self.identity.founder ? nil : self.identity.comparisonWords(of: user)
    }

    /// The people, each with those words.
    package func peopleWithWords() async throws -> [(person: Person, words: String?)] {
        let people = try await self.reading { transaction in
            var store: any StoreTransaction = transaction
            let people = try self.people(in: &store)
            return try people.all.map { (person: $0, user: try people.user($0.id)) }
        }
        return people.map { person, user in
            (person, user == self.identity.founder ? nil : self.identity.comparisonWords(of: user))
        }
    }

    /// Those of the user of a directory; nil for whoever created the workspace.
    package static func comparisonWords(_ paths: DirectoryPaths) throws -> String? {
        let identity = try Identity(paths)
        return identity.user == identity.founder ? nil : identity.comparisonWords(of: identity.user)
    }

    /// Says that a person is who he is taken for, after the words were compared.
    ///
    /// - Parameters:
    ///   - person: the name or the id of the person.
    ///   - words: the four words that the person sees.
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `invalidArgument` if the words are others, `notPermitted` unless
    ///   you created the workspace, or as ``write(_:)`` does.
    public func verify(person: String, words: String) async throws {
        try await self.write { transaction in
            let (user, known) = try transaction.readingStore { store in
                let people = try self.people(in: &store)
                let user = try people.member(person)
                return (user, people.person(user))
            }
            guard user != self.identity.founder else {
                throw PeerdError(
                    .invalidArgument,
                    "Whoever created the workspace is who he is.",
                    advice: "Name somebody else."
                )
            }
            guard ComparisonWords.are(self.identity.comparisonWords(of: user), typedAs: words) else {
                throw PeerdError(
                    .invalidArgument,
                    "These are not the words of the person who joined as “\(known.name.prefix(80))”.",
                    advice: "If the person sees them, somebody else has used the invite: remove him."
                )
            }
            if known.isVerified { return }
            try transaction.translating { local throws(WriteRefusal) in
                try local.name(user, known.name, isVerified: true)
            }
        }
    }

    /// Calls a person something else in the workspace.
    ///
    /// - Parameters:
    ///   - person: the name or the id of the person.
    ///   - name: what everybody in the workspace is to call him, in 1 to 512 bytes.
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `invalidArgument` for the name, `notPermitted` unless you created
    ///   the workspace, or as ``write(_:)`` does.
    public func rename(person: String, to name: String) async throws {
        try await self.check(newPerson: name)
        try await self.write { transaction in
            let (user, known) = try transaction.readingStore { store in
                let people = try self.people(in: &store)
                let user = try people.member(person)
                return (user, people.person(user))
            }
            try transaction.translating { local throws(WriteRefusal) in
                try local.name(user, name, isVerified: known.isVerified)
            }
        }
    }

    /// Lets a person into the workspace again who was removed from it: with the machines that he had, but for those
    /// that were removed by themselves.
    ///
    /// What was taken from him is to be shared with him again, and he is unverified until the words are compared again.
    ///
    /// - Parameter person: the name that the person had, or the id.
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `invalidArgument` unless he was removed, `notPermitted` unless you
    ///   created the workspace, or as ``write(_:)`` does.
    public func readmit(person: String) async throws {
        try await self.write { transaction in
            let (user, known) = try transaction.readingStore { store in
                let people = try self.people(in: &store)
                let user = try people.user(person)
                guard people.isFormer(user) else {
                    throw PeerdError(
                        .invalidArgument,
                        "“\(people.person(user).name.prefix(80))” is in the workspace.",
                        advice: "Name somebody who was removed."
                    )
                }
                return (user, people.person(user))
            }
            try transaction.translating { local throws(WriteRefusal) in
                try local.name(user, known.name, isVerified: false)
            }
        }
    }
}

extension Workspace.Identity {
    fileprivate func comparisonWords(of user: UserID) -> String {
        ComparisonWords.text(of: self.membership.workspace.bytes.array + user.bytes.array)
    }
}
