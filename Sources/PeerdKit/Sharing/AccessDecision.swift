internal import CRDTCore
internal import Engine
public import Foundation
internal import Persistence

/// Whether a person may do something with an object now, as far as it is known here, and what decides about it.
public struct AccessDecision: Hashable, Sendable, Codable {
    /// Why somebody may do something, or may not.
    public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        /// The person owns what the object is shared with, or it is shared with nobody and his.
        case owner
        /// Somebody who could has given the person the right.
        case granted
        /// It was taken away, or the person has left.
        case removed
        /// The person was given less than that.
        case lessGranted = "less granted"
        /// Nobody who could has given the person anything.
        case notGranted = "not granted"
        /// The property is hidden, and nobody has shared it with the person.
        case hidden
    }

    /// What somebody said that decides.
    public struct Statement: Hashable, Sendable, Codable {
        /// The transaction that it was said in, as the log names it.
        public let change: String
        /// The person who said it.
        public let person: Person
        /// The name of the machine that he said it on.
        public let machine: String
        /// The time that the machine gave it.
        public let date: Date
    }

    /// Tells whether the person may do it.
    public let isAllowed: Bool
    /// Why.
    public let reason: Reason
    /// What was said; nil if nothing was.
    public let statement: Statement?
}

/// What a person may do with an object, and why.
public struct AccessExplanation: Hashable, Sendable, Codable {
    /// The person.
    public let person: Person
    /// Whether the person may read it.
    public let reading: AccessDecision
    /// Whether the person may write it.
    public let writing: AccessDecision
}

extension Workspace {
    /// Tells whether a person may read and write an object, or one property of it, and which statement decides.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - property: the name of the property; nil for all that can be done with the object.
    ///   - person: the name or the id of the person.
    /// - Returns: both decisions.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchPerson`, `closed`, or if the disk fails;
    ///   `CancellationError`.
    /// - Complexity: O(*n*) in what was ever said of that person where the object is.
    public func explainAccess(
        to object: ObjectID,
        property: String? = nil,
        of person: String
    ) async throws -> AccessExplanation {
        try await self.reading { transaction in
            var reading = try AccessReading(self.identity, transaction)
            guard let index = try reading.state.visibleObject(object) else {
                throw PeerdError(WriteRefusal.noSuchObject(object))
            }
            return try reading.explanation(of: reading.people.user(person), on: index, property)
        }
    }
}

extension Workspace {
    /// What decides that this user may not do something; nil if he may by now.
    func decision(on denial: PeerdError.Denial) async throws -> AccessDecision? {
        try await self.reading { transaction in
            var reading = try AccessReading(self.identity, transaction)
            guard let index = try reading.state.visibleObject(denial.object) else { return nil }
            let decision = try reading.decision(on: denial, about: index)
            return decision.isAllowed ? nil : decision
        }
    }
}

extension AccessReading {
    fileprivate mutating func decision(
        on denial: PeerdError.Denial,
        about object: ObjectIndex
    ) throws(StoreError) -> AccessDecision {
        let explanation = try self.explanation(of: self.identity.user, on: object, denial.property)
        switch denial.need {
        case .read: return explanation.reading
        case .write: return explanation.writing
        case .manage, .own:
            guard explanation.writing.isAllowed else { return explanation.writing }
            let need: RightNeed = denial.need == .own ? .owner : .role(.manager)
            let circle = try self.state.object(object).circle
            return try self.decision(on: self.reason(for: need, to: self.identity.user, in: circle))
        }
    }

    fileprivate mutating func explanation(
        of user: UserID,
        on object: ObjectIndex,
        _ property: String?
    ) throws(StoreError) -> AccessExplanation {
        let circle = try self.state.object(object).circle
        var (readable, writable) = (circle, circle)
        var isHidden = false
        if let property, let name = try self.state.existingNameIndex(of: property),
            let beside = try self.state.besides(object, holding: name).first
        {
            // What somebody writes who does not read what is hidden, he writes beside it.
            readable = try self.state.object(beside).circle
            let reads = try self.reason(for: .role(.reader), to: user, in: readable).allows
            (writable, isHidden) = (reads ? readable : circle, !reads)
        }
        // Who is removed is not sent that, and told by the owner's machines.
        if user == self.identity.user, self.ended.contains(self.state.circles[circle]) {
            let removed = AccessDecision(isAllowed: false, reason: .removed, statement: nil)
            return AccessExplanation(person: self.people.person(user), reading: removed, writing: removed)
        }
        let need = property.map { RightNeed.write($0) } ?? .role(.writer)
        let reading = try self.decision(on: self.reason(for: .role(.reader), to: user, in: readable))
        let hidden = AccessDecision(isAllowed: false, reason: .hidden, statement: nil)
        return AccessExplanation(
            person: self.people.person(user),
            reading: isHidden && reading.statement == nil ? hidden : reading,
            writing: try self.decision(on: self.reason(for: need, to: user, in: writable))
        )
    }

    private func reason(
        for need: RightNeed,
        to user: UserID,
        in circle: CircleIndex
    ) throws(StoreError) -> RightReason {
        if let rights = self.rights.rights(in: circle) { return rights.reason(for: need, to: user) }
        return self.state.circles[circle].owner(founder: self.identity.founder) == user ? .isOwner : .notGranted
    }

    private mutating func decision(on reason: RightReason) throws(StoreError) -> AccessDecision {
        AccessDecision(
            isAllowed: reason.allows,
            reason: AccessDecision.Reason(reason),
            statement: try reason.statement.map { place throws(StoreError) in try self.statement(at: place) }
        )
    }

    private mutating func statement(at place: StatementPlace) throws(StoreError) -> AccessDecision.Statement {
        let stamp = try self.transaction.header(at: place.change)?.stamp ?? .zero
        let introduction = self.transaction.segment(place.change.segment).introduction
        return AccessDecision.Statement(
            change: "\(self.transaction.replicaID(place.change.segment)):\(place.change.sequence)",
            person: self.people.person(introduction?.user ?? self.identity.founder),
            machine: introduction?.deviceName ?? "",
            date: Date(milliseconds: stamp.milliseconds)
        )
    }
}

extension AccessDecision.Reason {
    fileprivate init(_ reason: RightReason) {
        self =
            switch reason {
            case .isOwner: .owner
            case .granted: .granted
            case .removed, .deviceRemoved: .removed
            case .grantedLess: .lessGranted
            case .notGranted: .notGranted
            }
    }
}

extension PeerdError.Denial {
    init(object: ObjectID, _ need: RightNeed) {
        switch need {
        case .write(let name): self.init(object: object, property: name, need: .write)
        case .role(.reader): self.init(object: object, need: .read)
        case .role(.writer): self.init(object: object, need: .write)
        case .role(.manager): self.init(object: object, need: .manage)
        case .owner: self.init(object: object, need: .own)
        }
    }
}
