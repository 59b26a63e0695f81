/// Says who may do what in the circle of its chain.
///
/// It counts from the moment when it is stored, whatever its change waits for. Whether it counts at all depends on who
/// says it: see `NaiveRights` for the rules in their plainest form.
package enum RightsStatement: Hashable, Sendable {
    case grants(Grant)
    case removes(Removal)
    case removesDevice(DeviceRemoval)
    case membershipKey(MembershipKey)

    /// Gives a user a role.
    package struct Grant: Hashable, Sendable {
        package var user: UserID
        package var role: Role
        /// The properties that a writer may write; nil for all.
        package var names: [String]?
        /// The removals of the user that it overrides, as far as nobody of a higher role made them.
        package var despite: [StatementID]
        /// In the roster, what the user is called in the workspace; else empty.
        package var name: String

        package init(
            to user: UserID,
            _ role: Role,
            names: [String]? = nil,
            despite: [StatementID] = [],
            name: String = ""
        ) {
            (self.user, self.role, self.names, self.despite, self.name) = (user, role, names, despite, name)
        }
    }

    /// Takes roles from a user.
    package struct Removal: Hashable, Sendable {
        package var user: UserID
        package var roles: Set<Role>
        /// The last changes of his that stay, with all that is before them in their chains.
        package var heads: [NamedChange]

        package init(of user: UserID, from roles: Set<Role>, heads: [NamedChange] = []) {
            (self.user, self.roles, self.heads) = (user, roles, heads)
        }
    }

    /// Takes all rights from a device, and from those that it has vouched for.
    package struct DeviceRemoval: Hashable, Sendable {
        package var device: DeviceID
        /// Devices below it that keep theirs, with those that they have vouched for.
        package var keep: [DeviceID]
        /// The last changes that stay, with all that is before them in their chains.
        package var heads: [NamedChange]

        package init(of device: DeviceID, keep: [DeviceID] = [], heads: [NamedChange] = []) {
            (self.device, self.keep, self.heads) = (device, keep, heads)
        }
    }

    /// In the roster, what members know each other by from now on that have not met.
    package struct MembershipKey: Hashable, Sendable {
        /// One more than that of the last one that its author knew, counted from 1.
        package var number: UInt64
        package var key: Bytes32

        package init(number: UInt64, key: Bytes32) { (self.number, self.key) = (number, key) }
    }

    private static let all: UInt8 = 0
    private static let listed: UInt8 = 1

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .grants(let grant):
            bytes.append(0)
            grant.user.bytes.append(to: &bytes)
            bytes.append(grant.role.rawValue)
            bytes.append(grant.names == nil ? Self.all : Self.listed)
            if let names = grant.names {
                bytes.appendVarint(UInt64(names.count))
                for name in names { bytes.appendPrefixed(name) }
            }
            bytes.appendVarint(UInt64(grant.despite.count))
            for removal in grant.despite { removal.encode(to: &bytes) }
            bytes.appendPrefixed(grant.name)
        case .removes(let removal):
            bytes.append(1)
            removal.user.bytes.append(to: &bytes)
            bytes.append(removal.roles.reduce(0) { $0 | $1.bit })
            Self.encode(removal.heads, to: &bytes)
        case .removesDevice(let removal):
            bytes.append(2)
            removal.device.bytes.append(to: &bytes)
            bytes.appendVarint(UInt64(removal.keep.count))
            for device in removal.keep { device.bytes.append(to: &bytes) }
            Self.encode(removal.heads, to: &bytes)
        case .membershipKey(let key):
            bytes.append(3)
            bytes.appendVarint(key.number)
            key.key.append(to: &bytes)
        }
    }

    private static func encode(_ heads: [NamedChange], to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(heads.count))
        for head in heads { head.encode(to: &bytes) }
    }

    /// Reads a statement that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        switch try reader.byte() {
        case 0: self = .grants(try Grant(decoding: &reader))
        case 1:
            let user = UserID(bytes: try reader.bytes32())
            let bits = try reader.byte()
            let roles = Set(Role.allCases.filter { $0.bit & bits != 0 })
            guard !roles.isEmpty, roles.reduce(0, { $0 | $1.bit }) == bits else { throw .notCanonical }
            self = .removes(Removal(of: user, from: roles, heads: try Self.heads(&reader)))
        case 2:
            let device = DeviceID(bytes: try reader.bytes32())
            var keep: [DeviceID] = []
            for _ in 0..<(try reader.count(atMost: Limits.keptDeviceCountMax)) {
                keep.append(DeviceID(bytes: try reader.bytes32()))
            }
            self = .removesDevice(DeviceRemoval(of: device, keep: keep, heads: try Self.heads(&reader)))
        case 3: self = .membershipKey(MembershipKey(number: try reader.varint(), key: try reader.bytes32()))
        default: throw .notCanonical
        }
        try reader.finish()
    }

    private static func heads(_ reader: inout ByteReader) throws(WireError) -> [NamedChange] {
        var heads: [NamedChange] = []
        for _ in 0..<(try reader.count(atMost: Limits.removalHeadCountMax)) {
            heads.append(try NamedChange(decoding: &reader))
        }
        return heads
    }
}

extension RightsStatement.Grant {
    fileprivate init(decoding reader: inout ByteReader) throws(WireError) {
        self.user = UserID(bytes: try reader.bytes32())
        guard let role = Role(rawValue: try reader.byte()) else { throw .notCanonical }
        self.role = role
        switch try reader.byte() {
        case RightsStatement.all: self.names = nil
        case RightsStatement.listed where role == .writer:
            var names: [String] = []
            for _ in 0..<(try reader.count(atMost: Limits.grantNameCountMax)) {
                names.append(try reader.text(atMost: Limits.nameByteCountMax))
            }
            self.names = names
        default: throw .notCanonical
        }
        self.despite = []
        for _ in 0..<(try reader.count(atMost: Limits.grantDespiteCountMax)) {
            self.despite.append(try StatementID(decoding: &reader))
        }
        self.name = try reader.text(atMost: Limits.nameByteCountMax)
    }
}

/// What a user may do in a circle that is not his; each role includes the later ones.
///
/// The owner may do everything. He needs no grant, and nobody takes anything from him.
package enum Role: UInt8, Hashable, CaseIterable, Comparable, Sendable {
    /// Gives and takes the roles of writers and readers.
    case manager = 1
    /// Writes all properties, or those of a list.
    case writer = 2
    /// Is sent what is in the circle.
    case reader = 3

    package static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }

    /// The bit that stands for it in a set of roles.
    fileprivate var bit: UInt8 { 1 << (self.rawValue - 1) }
}

/// A statement as another one names it, or a chain that is written under it: its change and its place there.
package struct StatementID: Hashable, Sendable {
    package var change: NamedChange
    package var index: UInt32

    package init(change: NamedChange, index: UInt32) { (self.change, self.index) = (change, index) }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        self.change.encode(to: &bytes)
        bytes.appendVarint(UInt64(self.index))
    }

    init(decoding reader: inout ByteReader) throws(WireError) {
        self.change = try NamedChange(decoding: &reader)
        self.index = UInt32(try reader.count(atMost: Limits.changeOperationCountMax))
    }
}

/// The circle that a chain belongs to: a set of objects, and the people who may read them.
package enum Circle: Hashable, Sendable {
    /// What the founder of the workspace owns.
    case home
    /// Users and devices of the workspace, which everybody in it reads.
    case roster
    /// A set of objects that somebody shares. What names it has its owner in it, so that is fixed.
    case shared(owner: UserID, nonce: Bytes16)
    /// Values of objects that are in other circles, which its readers see in the place of what is there: properties
    /// that its owner hides from the readers of those. It has no objects of its own, and keeps none alive.
    case beside(owner: UserID, nonce: Bytes16)

    /// Whether it is a circle that a user has made.
    package func isOwned(by user: UserID) -> Bool {
        switch self {
        case .shared(let owner, _), .beside(let owner, _): owner == user
        case .home, .roster: false
        }
    }

    /// Whether it lies beside others.
    package var isBeside: Bool { if case .beside = self { true } else { false } }

    /// The circle in which a user has what is his alone, if he does not read home.
    package static func own(of user: UserID) -> Circle { .shared(owner: user, nonce: Bytes16(high: 0, low: 0)) }

    /// The circle with the properties that a user hides from everybody.
    package static func hidden(by user: UserID) -> Circle { .beside(owner: user, nonce: Bytes16(high: 0, low: 0)) }

    /// Whether what is of it stays when a user deletes something of another circle above it: somebody else shares it,
    /// and where it stands is that user's alone.
    package func outlives(_ above: Circle, deletedBy user: UserID) -> Bool {
        guard case .shared = self, !self.isOwned(by: user) else { return false }
        return self != above
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .home: bytes.append(0)
        case .roster: bytes.append(1)
        case .shared(let owner, let nonce):
            bytes.append(2)
            owner.bytes.append(to: &bytes)
            nonce.append(to: &bytes)
        case .beside(let owner, let nonce):
            bytes.append(3)
            owner.bytes.append(to: &bytes)
            nonce.append(to: &bytes)
        }
    }

    package init(decoding reader: inout ByteReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .home
        case 1: self = .roster
        case 2: self = .shared(owner: UserID(bytes: try reader.bytes32()), nonce: try reader.bytes16())
        case 3: self = .beside(owner: UserID(bytes: try reader.bytes32()), nonce: try reader.bytes16())
        default: throw .notCanonical
        }
    }

    /// The user who may do everything in it.
    package func owner(founder: UserID) -> UserID {
        switch self {
        case .shared(let owner, _), .beside(let owner, _): owner
        case .home, .roster: founder
        }
    }
}
