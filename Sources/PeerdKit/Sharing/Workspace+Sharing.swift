internal import CRDTCore
internal import Engine
internal import Persistence

extension PeerdError {
    fileprivate init(unverified person: Person) {
        self.init(
            .invalidArgument,
            "Nobody has made sure that “\(person.name.prefix(80))” is who he is, so he cannot manage anything.",
            advice: "Compare the four words with the person first."
        )
    }
}

extension Workspace {
    /// Returns the people of the workspace, by their names.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    public func people() async throws -> [Person] {
        try await self.reading { transaction in
            var store: any StoreTransaction = transaction
            return try self.people(in: &store).all
        }
    }

    func people(in store: inout any StoreTransaction) throws(StoreError) -> People {
        try People(founder: self.identity.founder, user: self.identity.user, in: &store)
    }

    /// Lets a person read an object and everything below it, and also write it if the role says so.
    ///
    /// The first time that an object is shared, it and what is below it are written anew: the person gets what they are
    /// now, and not what they were. Who is let in later gets all that was written there since. What is made or moved
    /// below it later is shared, too; what is moved out of it is not shared any more. For a person who has access
    /// already, this changes the role. Very many objects, or large ones, go over in several transactions: what has not
    /// gone yet shows where it was, and goes when the object is shared again, with anybody.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - person: the name or the id of the person.
    ///   - role: what the person may do.
    ///   - properties: for the role of a writer, the names of the properties that the person may set: 1 to 256 of them.
    ///     He creates, moves and deletes nothing then. Nil for everything.
    /// - Returns: who has access now.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchPerson`, `invalidArgument` below an object that is shared
    ///   by itself, for the role of the owner or with the owner, for properties that cannot be, and for somebody who is
    ///   to manage and is not verified, `notPermitted`, or as ``write(_:)`` does.
    @discardableResult
    public func share(
        _ object: ObjectID,
        with person: String,
        as role: AccessRole,
        only properties: [String]? = nil
    ) async throws -> AccessReport {
        guard let role = role.role else {
            throw PeerdError(
                .invalidArgument,
                "An object that is shared has one owner, who does not change.",
                advice: "Let the person manage it."
            )
        }
        if let properties { try Self.check(properties: properties, for: role) }
        let known = try await self.access(to: object)
        let step = { @Sendable (transaction: inout WriteTransaction) throws -> Bool in
            let people = try transaction.readingStore { store in try self.people(in: &store) }
            let user = try people.member(person)
            if role == .manager, !people.person(user).isVerified { throw PeerdError(unverified: people.person(user)) }
            guard known.people.first?.person.id != user.description else {
                throw PeerdError(
                    .invalidArgument,
                    "The person owns the object, and may do everything.",
                    advice: "Name somebody else."
                )
            }
            return try transaction.translating { local throws(WriteRefusal) in
                try local.share(object, with: user, as: role, names: properties).isHalfDone
            }
        }
        while try await self.write(step) { try Task.checkCancellation() }
        return try await self.access(to: object)
    }

    /// Takes from a person what he may do with an object that is shared.
    ///
    /// What he was sent he keeps. His edits that are on this machine stay; what he writes from now on counts nowhere,
    /// nor what he had written and not synced with this machine. For what you have yourself, see ``leave(_:)``.
    ///
    /// - Returns: who has access now.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchPerson`, `invalidArgument` if the object is not shared
    ///   by itself or the person has no access that can be taken, `notPermitted`, or as ``write(_:)`` does.
    @discardableResult
    public func unshare(_ object: ObjectID, with person: String) async throws -> AccessReport {
        let known = try await self.access(to: object)
        try await self.write { transaction in
            let user = try transaction.readingStore { store in try self.people(in: &store).user(person) }
            // Whoever owns it is the first, and keeps it.
            let others = known.people.dropFirst() + known.copies.filter { $0.role != .owner }
            guard others.contains(where: { $0.person.id == user.description }) else {
                throw PeerdError(
                    .invalidArgument,
                    "There is nothing to take from that person: nothing was given, or the person owns the object.",
                    advice: "See who has access."
                )
            }
            guard user != self.identity.user else {
                throw PeerdError(
                    .invalidArgument,
                    "You cannot take an object from yourself.",
                    advice: "Give up with \"leave\" what was shared with you."
                )
            }
            try transaction.translating { local throws(WriteRefusal) in try local.unshare(object, with: user) }
        }
        return try await self.access(to: object)
    }

    /// Gives up what others have given you in an object that is shared: it shows on your machines no more.
    ///
    /// What you have written there stays. Whoever may give it can share it with you again; then it shows as before.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, `invalidArgument` if the object is not shared by itself or is
    ///   yours, or as ``write(_:)`` does.
    /// - Complexity: O(*n*) in the objects that are shared with you.
    public func leave(_ object: ObjectID) async throws {
        try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in try local.leave(object) }
        }
    }

    /// Removes a person from the workspace: his machines are refused from now on.
    ///
    /// What he was sent he keeps, and what he has written stays.
    ///
    /// - Throws: ``PeerdError`` with `noSuchPerson`, `notPermitted` unless this is the workspace of this user,
    ///   `invalidArgument` for oneself, or as ``write(_:)`` does.
    public func remove(person: String) async throws {
        try await self.write { transaction in
            let user = try transaction.readingStore { store in try self.people(in: &store).user(person) }
            guard user != self.identity.founder else {
                throw PeerdError(
                    .invalidArgument,
                    "Whoever created the workspace cannot be removed from it.",
                    advice: "Name somebody else."
                )
            }
            try transaction.translating { local throws(WriteRefusal) in try local.dismiss(user) }
        }
    }

    /// Returns who may do what with an object.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, `closed`, or if the disk fails; `CancellationError`.
    public func access(to object: ObjectID) async throws -> AccessReport {
        try await self.reading { transaction in
            var reading = try AccessReading(self.identity, transaction)
            guard let index = try reading.state.visibleObject(object) else {
                throw PeerdError(WriteRefusal.noSuchObject(object))
            }
            return try reading.report(on: index)
        }
    }

    /// Returns who may do what with each object that is shared by itself: those that others share with you first, then
    /// yours, by their ids.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n*) in the objects that are shared, and what is below them.
    public func shares() async throws -> [AccessReport] {
        try await self.reading { transaction in
            var reading = try AccessReading(self.identity, transaction)
            return try reading.shares(of: transaction.objectsOutsideOfHome())
        }
    }

    /// Throws `invalidArgument` for properties that nobody can be limited to.
    private static func check(properties: [String], for role: Role) throws {
        let areNames = properties.allSatisfy { (1...Limits.nameByteCountMax).contains($0.utf8.count) }
        guard role == .writer, (1...Limits.grantNameCountMax).contains(properties.count), areNames else {
            throw PeerdError(
                .invalidArgument,
                "Only who writes can be limited to properties: to 1 to \(Limits.grantNameCountMax) of them.",
                advice: "Name the properties that the person may set, and let the person write."
            )
        }
    }

    /// What is deleted with an object: itself first, and what shows below it, but for what others share.
    package func deleted(with object: ObjectIndex, in state: inout WorkspaceState) throws(StoreError) -> [ObjectID] {
        let top = state.circles[try state.object(object).circle]
        var ids: [ObjectID] = []
        for member in try StateExport.subtree(object, in: &state) {
            let record = try state.object(member)
            if state.circles[record.circle].outlives(top, deletedBy: self.identity.user) { continue }
            ids.append(record.id)
        }
        return ids
    }

    /// Makes an invite for a person, who gets a user of his own: valid once, for ten minutes, while this machine syncs.
    ///
    /// The person reads nothing until something is shared with him.
    ///
    /// - Parameter person: what the person is called here, in 1 to 512 bytes.
    /// - Returns: the invite, with the addresses of this machine.
    /// - Throws: as ``invite()``, and ``PeerdError`` with `invalidArgument` for the name.
    public func invite(person: String) async throws -> Invitation {
        try await self.check(newPerson: person)
        let driver = try self.driver()
        let (hosts, port) = try await self.reachableAddress()
        return Invitation(try await driver.makeInvite(for: .person(person), addresses: hosts, port: port).invite)
    }

    /// Makes an invite for somebody of the workspace who has lost all his machines, and has his recovery words: valid
    /// once, for ten minutes, while this machine syncs.
    ///
    /// Whoever uses it must have the words of somebody who is let in; it lets nobody else in.
    ///
    /// - Returns: the invite, with the addresses of this machine.
    /// - Throws: as ``invite()``.
    public func inviteBack() async throws -> Invitation {
        let driver = try self.driver()
        let (hosts, port) = try await self.reachableAddress()
        return Invitation(try await driver.makeInvite(for: .returning, addresses: hosts, port: port).invite)
    }

    /// Throws `invalidArgument` for what nobody can be called, or somebody is.
    package func check(newPerson name: String) async throws {
        try Self.check(personName: name)
        let people = try await self.people()
        // What looks like an id names whom it is of.
        if name.count >= People.idPrefixCountMin, people.contains(where: { $0.id.hasPrefix(name.lowercased()) }) {
            throw PeerdError(
                .invalidArgument,
                "“\(name.prefix(80))” is the beginning of somebody's id.",
                advice: "Choose another name."
            )
        }
        guard people.contains(where: { $0.name == name }) else { return }
        throw PeerdError(
            .invalidArgument,
            "Somebody in the workspace is called “\(name.prefix(80))” already.",
            advice: "Choose another name; a machine of that person is invited by that person."
        )
    }

    private static func check(personName name: String) throws {
        let isPlain =
            name.unicodeScalars.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) }
            && name.first?.isWhitespace == false && name.last?.isWhitespace == false
        guard (1...Limits.nameByteCountMax).contains(name.utf8.count), isPlain else {
            throw PeerdError(
                .invalidArgument,
                "“\(name.prefix(80))” cannot be the name of a person.",
                advice:
                    "A name has 1 to \(Limits.nameByteCountMax) bytes, no control characters, and no spaces around it."
            )
        }
    }
}
