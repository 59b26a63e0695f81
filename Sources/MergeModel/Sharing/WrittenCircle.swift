package import CRDTCore

/// A circle, as its changes were written.
package struct WrittenCircle: Sendable {
    package private(set) var devices: [DeviceID: NaiveRights.Device] = [:]
    package private(set) var changes: [NaiveRights.Change] = []
    /// The grants to each user, which his chains name as they begin.
    package var grants: [UserID: Set<NaiveRights.StatementPlace>] = [:]

    package init() {}

    package static let all: Set<NaiveRights.Role> = [.manager, .writer, .reader]
    package static let owner = WrittenCircle.user(0)

    package static func user(_ number: UInt64) -> UserID { UserID(bytes: WrittenCircle.bytes(number)) }

    package static func device(_ number: UInt64) -> DeviceID { DeviceID(bytes: WrittenCircle.bytes(number)) }

    private static func bytes(_ number: UInt64) -> Bytes32 {
        Bytes32((0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }) ?? .zero
    }

    package var rights: NaiveRights {
        NaiveRights(owner: WrittenCircle.owner, devices: self.devices, changes: self.changes)
    }

    /// Adds a device of a user, which another one vouches for.
    package mutating func add(_ number: UInt64, of user: UserID, by issuer: DeviceID? = nil, generation: Int = 1)
        -> DeviceID
    {
        let device = WrittenCircle.device(number)
        let issuers = issuer.map { [$0] + (self.devices[$0]?.issuers ?? []) } ?? []
        self.devices[device] = NaiveRights.Device(user: user, issuers: issuers, generation: generation)
        return device
    }

    /// Writes a change; after none it begins a chain, under the grants that its user has.
    @discardableResult
    package mutating func write(
        _ device: DeviceID,
        after previous: Int? = nil,
        _ statements: NaiveRights.Statement...,
        under grants: Set<NaiveRights.StatementPlace>? = nil
    ) -> Int {
        let user = self.devices[device]?.user
        let known = user.flatMap { self.grants[$0] } ?? []
        let under = previous == nil ? grants ?? known : []
        self.changes.append(NaiveRights.Change(by: device, after: previous, statements, under: under))
        return self.changes.count - 1
    }

    /// Grants a role, under which chains begin from now on.
    @discardableResult
    package mutating func grant(
        _ role: NaiveRights.Role,
        to user: UserID,
        by device: DeviceID,
        after previous: Int? = nil
    )
        -> Int
    {
        let change = self.write(device, after: previous, .grant(user, role))
        self.grants[user, default: []].insert(NaiveRights.StatementPlace(change))
        return change
    }

    /// Writes changes one after the other; returns their numbers.
    package mutating func chain(_ device: DeviceID, _ count: Int, after previous: Int? = nil) -> [Int] {
        var (last, numbers) = (previous, [Int]())
        for _ in 0..<count {
            let number = self.write(device, after: last)
            (last, numbers) = (number, numbers + [number])
        }
        return numbers
    }
}

extension WrittenCircle {
    package mutating func append(_ change: NaiveRights.Change) { self.changes.append(change) }

    package func isWithin(_ heads: Set<Int>, _ change: Int) -> Bool {
        heads.contains { head in
            var next: Int? = head
            while let current = next, current != change { next = self.changes[current].previous }
            return next != nil
        }
    }
}
