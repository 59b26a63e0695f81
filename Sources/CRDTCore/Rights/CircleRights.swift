/// Who may do what in a circle, by all that is said there.
///
/// It is found in three layers, none of which looks at a later one: which devices are removed, what the owner says, and
/// what managers say. No stamp, no context and no order of arrival is looked at. `NaiveRights` has the same rules in
/// their plainest form.
package struct CircleRights: Sendable {
    /// What somebody says, and where.
    package struct Said: Hashable, Sendable {
        package var place: StatementPlace
        package var statement: RightsStatement
        /// That of the change.
        package var hash: Hash256

        package init(_ statement: RightsStatement, at place: StatementPlace, in hash: Hash256) {
            (self.statement, self.place, self.hash) = (statement, place, hash)
        }
    }

    /// Who says something: his role, as far as it decides about what is said.
    private enum Level: UInt8, Comparable {
        case owner = 0
        case manager = 1
        /// The user himself, who may always leave.
        case oneself = 3

        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        func mayGive(_ role: Role) -> Bool { role.rawValue > self.rawValue }
    }

    private struct CountingGrant {
        var place: StatementPlace
        var level: Level
        var grant: RightsStatement.Grant
        var despite: Set<StatementPlace>
    }

    private struct CountingRemoval {
        var place: StatementPlace
        var level: Level
        var user: UserID
        var roles: Set<Role>
        var ends: ChainEnds

        /// Whether it takes a grant to its user back, which may override it.
        func takes(_ grant: CountingGrant) -> Bool {
            self.roles.contains(grant.grant.role)
                && !(grant.despite.contains(self.place) && grant.level <= self.level)
        }
    }

    /// How far no removal of a device hits a segment, of so many removals.
    private struct Standing {
        var removalCount = 0
        var end = UInt64.max
    }

    private struct CountingDeviceRemoval {
        var place: StatementPlace
        var author: ChainAuthor
        var device: DeviceID
        var keep: Set<DeviceID>
        var ends: ChainEnds
    }

    private let owner: UserID
    /// Where each user is granted something, whether that counts or not.
    private var named: [UserID: [StatementPlace]] = [:]
    /// To whom devices of the owner have granted something, whether that counts or not.
    private var namedByOwner: Set<UserID> = []
    private var removedDevices: [CountingDeviceRemoval] = []
    private var grants: [CountingGrant] = []
    private var removals: [CountingRemoval] = []
    /// Where these are in their lists, by what they are about: anybody may say a great deal about what nobody asks for.
    private var deviceRemovalNumbers: [DeviceID: [Int]] = [:]
    private var grantNumbers: [UserID: [Int]] = [:]
    private var removalNumbers: [UserID: [Role: [Int]]] = [:]
    /// What removals name that were judged: many may name the same.
    private var knownEnds: [[NamedChange]: ChainEnds] = [:]
    /// By segment, while what is said is judged.
    private var standings: [SegmentIndex: Standing] = [:]
    /// The membership keys, the newest first: the last few of the owner, and of each other user the last one.
    package private(set) var membershipKeys: [Bytes32] = []
    /// The number of the newest one; 0 if there is none.
    package private(set) var membershipKeyNumber: UInt64 = 0

    /// `said`: in any order.
    /// - Complexity: O(*n* log *n*) for *n* statements, with O(*g* *r*) for each chain of somebody who manages, by its
    ///   grants and the removals of its user.
    package init(
        owner: UserID,
        _ said: [Said],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        self.owner = owner
        for said in said {
            guard case .grants(let grant) = said.statement else { continue }
            self.named[grant.user, default: []].append(said.place)
            let author = transaction.segment(said.place.change.segment).introduction?.user
            if author == owner { self.namedByOwner.insert(grant.user) }
        }
        try self.judgeDevices(said, in: &transaction)
        try self.judgeOwner(said, in: &transaction)
        try self.judgeManagers(said, in: &transaction)
        try self.judgeMembershipKeys(said, in: &transaction)
        (self.standings, self.knownEnds) = ([:], [:])
    }

    /// How far a segment counts, for each kind of what may be done.
    ///
    /// - Complexity: O(*g* *r*) for *g* grants that the chain names, and *r* removals of its user.
    package func ends(
        of segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RightEnds {
        guard let author = ChainAuthor(of: segment, in: transaction) else { return .none }
        let standing = self.standingEnd(of: segment, by: author)
        guard author.user != self.owner else { return RightEnds(all: standing) }
        var ends = RightEnds.none
        for grant in try self.grants(of: segment, by: author, in: &transaction) {
            let end = min(standing, self.end(of: segment, under: grant))
            guard end > 0 else { continue }
            ends.reader = max(ends.reader, end)
            guard grant.grant.role <= .writer else { continue }
            if grant.grant.role == .writer, let names = grant.grant.names {
                for name in names { ends.names[ExactText(name), default: 0].raise(to: end) }
            } else {
                ends.writer = max(ends.writer, end)
            }
            if grant.grant.role == .manager { ends.manager = max(ends.manager, end) }
        }
        return ends
    }

    /// Why something may be done in a change, or may not: what is said that decides about it.
    ///
    /// - Complexity: as `ends(of:in:)`.
    package func reason(
        for need: RightNeed,
        at change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RightReason {
        let segment = change.segment
        guard let author = ChainAuthor(of: segment, in: transaction) else { return .notGranted }
        let removal = self.deviceRemoval(of: author) { $0.ends[segment] < change.sequence }
        if let removal { return .deviceRemoved(removal.place) }
        if author.user == self.owner { return .isOwner }
        let grants = try self.grants(of: segment, by: author, in: &transaction).sorted { $0.grant.role < $1.grant.role }
        let enough = grants.filter { $0.grant.allows(need) }
        if let grant = enough.first(where: { change.sequence <= self.end(of: segment, under: $0) }) {
            return .granted(grant.place)
        }
        guard let grant = enough.first else { return grants.first.map { .grantedLess($0.place) } ?? .notGranted }
        let cutting = self.removals(of: grant).filter { $0.ends[segment] < change.sequence }
        return cutting.min { $0.level < $1.level }.map { .removed($0.place) } ?? .notGranted
    }

    /// Why a user may do something from now on, or may not: what is said that decides about it.
    ///
    /// - Complexity: O(*g* *r*) for *g* grants to him, and *r* removals of him.
    package func reason(for need: RightNeed, to user: UserID) -> RightReason {
        if user == self.owner { return .isOwner }
        let given = self.grants(naming: user).sorted { $0.grant.role < $1.grant.role }
        let standing = given.filter { self.removals(of: $0).isEmpty }
        if let grant = standing.first(where: { $0.grant.allows(need) }) { return .granted(grant.place) }
        if let grant = standing.first { return .grantedLess(grant.place) }
        let cutting = given.flatMap { self.removals(of: $0) }
        return cutting.min { $0.level < $1.level }.map { .removed($0.place) } ?? .notGranted
    }

    /// Whether a user has given up by himself what he was granted, and nobody has granted him anything since.
    func hasLeft(_ user: UserID) -> Bool { self.hasLeft(user, by: { _ in true }) }

    /// The same by some of what is said.
    func hasLeft(_ user: UserID, by counts: (StatementPlace) -> Bool) -> Bool {
        let hasLeft = self.removals(naming: user).contains { $0.level == .oneself && counts($0.place) }
        return hasLeft
            && !self.grants(naming: user).contains { grant in
                counts(grant.place) && !self.isRemoved(grant) { counts($0.place) }
            }
    }

    /// What is said about a user: grants to him, and removals of him.
    func places(about user: UserID) -> [StatementPlace] {
        self.grants(naming: user).map(\.place) + self.standingRemovals(of: user)
    }

    /// Whether a user has ever given up what he was granted.
    func hasEverLeft(_ user: UserID) -> Bool {
        self.removals(naming: user).contains { $0.level == .oneself }
    }

    /// Whether a device reads the circle, as far as is known here.
    ///
    /// `author`: the device, as its certificates say.
    package func reads(_ author: ChainAuthor) -> Bool { self.allows(.role(.reader), to: author) }

    /// Whether a device may do something now, as far as is known here, in a chain that names all grants to its user.
    package func allows(_ need: RightNeed, to author: ChainAuthor) -> Bool {
        guard !self.isRemoved(author) else { return false }
        return author.user == self.owner || self.grants(to: author).contains { $0.grant.allows(need) }
    }

    /// The statements under which a device may write now, as far as is known here, in the order in which they came.
    package func standingGrants(to author: ChainAuthor) -> [StatementPlace] { self.grants(to: author).map(\.place) }

    /// The statements that ever granted a user something, in the order in which they came; if none of them counts,
    /// those that do not.
    package func formerGrants(to user: UserID) -> [StatementPlace] {
        let counting = self.grants(naming: user).map(\.place)
        return counting.isEmpty ? self.named[user] ?? [] : counting
    }

    /// Whether anybody has ever granted a user something, whether that counts or not.
    ///
    /// Unlike what counts, this never turns: what was taken in because of it every other peer takes in as well.
    package func names(_ user: UserID) -> Bool { self.named[user] != nil }

    /// Where anybody has granted a user something, whether that counts or not, in the order in which it came.
    package func places(naming user: UserID) -> [StatementPlace] { self.named[user] ?? [] }

    /// Whether a user was ever granted something by who could, or by a device of the owner that was removed since.
    package func hasNamed(_ user: UserID) -> Bool { self.hasGranted(user) || self.namedByOwner.contains(user) }

    /// The users who may do something now, but for the owner, each with the grants that no removal takes from him.
    package func standingGrants() -> [(place: StatementPlace, grant: RightsStatement.Grant)] {
        self.grants.filter { !self.isRemoved($0) }.map { ($0.place, $0.grant) }
    }

    /// Whether anybody but the owner may do something now.
    package var isShared: Bool { self.grants.contains { !self.isRemoved($0) } }

    /// What each user but the owner may do now, by their ids: the highest role, and the properties if a writer may
    /// write but some.
    package var standing: [(user: UserID, role: Role, names: [String]?)] {
        var grants: [UserID: [RightsStatement.Grant]] = [:]
        for (_, grant) in self.standingGrants() where grant.user != self.owner {
            grants[grant.user, default: []].append(grant)
        }
        return grants.keys.sorted().map { user in
            let role = grants[user]?.map(\.role).min() ?? .reader
            let names = grants[user]?.filter { $0.role == role }.map(\.names) ?? []
            let isLimited = role == .writer && !names.contains(nil)
            return (user, role, isLimited ? Set(names.compactMap(\.self).joined()).sorted() : nil)
        }
    }

    /// What was ever granted by who could, in the order in which it came.
    package var allGrants: [RightsStatement.Grant] { self.grants.map(\.grant) }

    /// Whether a user was ever granted anything by who could.
    package func hasGranted(_ user: UserID) -> Bool { self.grantNumbers[user] != nil }

    /// Whether the owner has taken a role from a user, so that only he can give it again.
    package func isRemovedByOwner(_ user: UserID, from role: Role) -> Bool {
        self.removals(naming: user).contains { $0.level == .owner && $0.roles.contains(role) }
    }

    /// The removals of a user that count, which a new grant has to name.
    package func standingRemovals(of user: UserID) -> [StatementPlace] {
        self.removals(naming: user).map(\.place)
    }

    /// The removals of devices that count: where each is said, who says it, and what it is about.
    package var deviceRemovals: [(place: StatementPlace, author: ChainAuthor, device: DeviceID, keep: Set<DeviceID>)] {
        self.removedDevices.map { ($0.place, $0.author, $0.device, $0.keep) }
    }

    private func grants(to author: ChainAuthor) -> [CountingGrant] {
        guard !self.isRemoved(author) else { return [] }
        return self.grants(naming: author.user).filter { !self.isRemoved($0) }
    }

    /// Whether a removal hits a device in all that it writes from now on.
    package func isRemoved(_ author: ChainAuthor) -> Bool {
        self.deviceRemoval(of: author) { _ in true } != nil
    }

    // MARK: - The three layers

    /// Removals of devices: those by the owner first, then by the devices that stand highest.
    ///
    /// An author is hit only by who stands above him, or by the owner: all of these come before.
    private mutating func judgeDevices(
        _ said: [Said],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var found: [(rank: Rank, removal: CountingDeviceRemoval)] = []
        for said in said {
            guard case .removesDevice(let removal) = said.statement,
                let author = ChainAuthor(of: said.place.change.segment, in: transaction)
            else { continue }
            let counting = CountingDeviceRemoval(
                place: said.place,
                author: author,
                device: removal.device,
                keep: Set(removal.keep),
                ends: try self.ends(of: removal.heads, in: &transaction)
            )
            let rank = Rank(author, isOwner: author.user == self.owner, said.hash, said.place.index)
            found.append((rank, counting))
        }
        for (_, removal) in found.sorted(by: { $0.rank < $1.rank }) {
            let place = removal.place.change
            guard place.sequence <= self.notedStandingEnd(of: place.segment, by: removal.author) else { continue }
            self.deviceRemovalNumbers[removal.device, default: []].append(self.removedDevices.count)
            self.removedDevices.append(removal)
        }
    }

    /// All that the owner says, and removals of oneself.
    private mutating func judgeOwner(
        _ said: [Said],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for said in said {
            guard let author = self.author(of: said, in: transaction) else { continue }
            if author.user == self.owner {
                try self.take(said, .owner, in: &transaction)
            } else if case .removes(let removal) = said.statement, removal.user == author.user {
                try self.take(said, .oneself, in: &transaction)
            }
        }
    }

    /// What managers say of writers and readers.
    private mutating func judgeManagers(
        _ said: [Said],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var counting: [Said] = []
        var managing: [SegmentIndex: UInt64] = [:]
        for said in said {
            guard let author = self.author(of: said, in: transaction), author.user != self.owner else { continue }
            let (segment, sequence) = (said.place.change.segment, said.place.change.sequence)
            if let end = managing[segment] {
                if sequence <= end { counting.append(said) }
                continue
            }
            let grants = try self.grants(of: segment, by: author, in: &transaction)
            let ends = grants.filter { $0.grant.role == .manager }.map { self.end(of: segment, under: $0) }
            managing[segment] = ends.max() ?? 0
            if sequence <= ends.max() ?? 0 { counting.append(said) }
        }
        for said in counting { try self.take(said, .manager, in: &transaction) }
    }

    private mutating func take(
        _ said: Said,
        _ level: Level,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        switch said.statement {
        case .grants(let grant):
            guard level.mayGive(grant.role) else { return }
            let despite = try transaction.places(of: grant.despite)
            self.grantNumbers[grant.user, default: []].append(self.grants.count)
            self.grants.append(CountingGrant(place: said.place, level: level, grant: grant, despite: despite))
        case .removes(let removal):
            // The owner cannot be removed.
            guard removal.user != self.owner else { return }
            let roles = level == .manager ? removal.roles.filter { level.mayGive($0) } : removal.roles
            for role in roles {
                self.removalNumbers[removal.user, default: [:]][role, default: []].append(self.removals.count)
            }
            self.removals.append(
                CountingRemoval(
                    place: said.place,
                    level: level,
                    user: removal.user,
                    roles: roles,
                    ends: try self.ends(of: removal.heads, in: &transaction)
                )
            )
        case .removesDevice, .membershipKey: break
        }
    }

    /// What anybody says who reads the circle.
    ///
    /// No number counts for more than there are keys, so that nobody keeps his the newest by a high one; of equal ones
    /// that comes later which claims less.
    private mutating func judgeMembershipKeys(
        _ said: [Said],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var found: [(user: UserID, said: RightsStatement.MembershipKey)] = []
        var reading: [SegmentIndex: UInt64] = [:]
        for said in said {
            guard case .membershipKey(let key) = said.statement,
                let author = self.author(of: said, in: transaction)
            else { continue }
            let (segment, sequence) = (said.place.change.segment, said.place.change.sequence)
            if author.user != self.owner, reading[segment] == nil {
                let grants = try self.grants(of: segment, by: author, in: &transaction)
                reading[segment] = grants.map { self.end(of: segment, under: $0) }.max() ?? 0
            }
            if sequence <= reading[segment] ?? .max { found.append((author.user, key)) }
        }
        let count = UInt64(found.count)
        found.sort { left, right in
            let numbers = (min(left.said.number, count), min(right.said.number, count))
            if numbers.0 != numbers.1 { return numbers.0 > numbers.1 }
            if left.said.number != right.said.number { return left.said.number < right.said.number }
            return left.said.key < right.said.key
        }
        self.membershipKeyNumber = found.first.map { min($0.said.number, count) } ?? 0
        var users: Set<UserID> = []
        for (user, said) in found where users.insert(user).inserted || user == self.owner {
            if !self.membershipKeys.contains(said.key) { self.membershipKeys.append(said.key) }
        }
        self.membershipKeys = Array(self.membershipKeys.prefix(Limits.membershipKeyCountMax))
    }

    // MARK: - One chain

    /// Who says something, if no removal of a device hits that.
    private mutating func author(of said: Said, in transaction: some StoreTransaction) -> ChainAuthor? {
        let place = said.place.change
        guard let author = ChainAuthor(of: place.segment, in: transaction),
            place.sequence <= self.notedStandingEnd(of: place.segment, by: author)
        else { return nil }
        return author
    }

    /// How far no removal of a device hits a segment.
    private func standingEnd(of segment: SegmentIndex, by author: ChainAuthor) -> UInt64 {
        self.standingEnd(of: segment, by: author, from: 0)
    }

    /// How far no removal hits a segment, of those with numbers from one on.
    private func standingEnd(of segment: SegmentIndex, by author: ChainAuthor, from first: Int) -> UInt64 {
        var end = UInt64.max
        for device in author.line {
            guard let numbers = self.deviceRemovalNumbers[device] else { continue }
            for number in numbers[numbers.firstPosition { $0 >= first }...] where end > 0 {
                let removal = self.removedDevices[number]
                if self.hits(removal, author) { end = min(end, removal.ends[segment]) }
            }
        }
        return end
    }

    /// The same while removals are still being found: each is looked at once for a segment.
    private mutating func notedStandingEnd(of segment: SegmentIndex, by author: ChainAuthor) -> UInt64 {
        let noted = self.standings[segment] ?? Standing()
        let end = min(noted.end, self.standingEnd(of: segment, by: author, from: noted.removalCount))
        self.standings[segment] = Standing(removalCount: self.removedDevices.count, end: end)
        return end
    }

    /// The first removal that hits a device and fulfils a condition.
    private func deviceRemoval(
        of author: ChainAuthor,
        where fits: (CountingDeviceRemoval) -> Bool
    ) -> CountingDeviceRemoval? {
        let numbers = author.line.compactMap { device in
            self.deviceRemovalNumbers[device]?.first { number in
                let removal = self.removedDevices[number]
                return self.hits(removal, author) && fits(removal)
            }
        }
        return numbers.min().map { self.removedDevices[$0] }
    }

    /// The counting grants to a user, in the order in which they came.
    private func grants(naming user: UserID) -> [CountingGrant] {
        (self.grantNumbers[user] ?? []).map { self.grants[$0] }
    }

    /// The counting removals of a user, in the order in which they came.
    private func removals(naming user: UserID) -> [CountingRemoval] {
        Set((self.removalNumbers[user] ?? [:]).values.joined()).sorted().map { self.removals[$0] }
    }

    /// The counting removals of the user of a grant from what it gives, in the order in which they came.
    private func removalNumbers(of grant: CountingGrant) -> [Int] {
        self.removalNumbers[grant.grant.user]?[grant.grant.role] ?? []
    }

    private mutating func ends(
        of heads: [NamedChange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ChainEnds {
        if let known = self.knownEnds[heads] { return known }
        let ends = try ChainEnds(heads, in: &transaction)
        self.knownEnds[heads] = ends
        return ends
    }

    /// Whether a removal is about chains of a device, beyond its heads.
    ///
    /// That depends on the certificates of the chain: who could vouch again for a device above him would stand above it
    /// only in chains that name him.
    private func hits(_ removal: CountingDeviceRemoval, _ author: ChainAuthor) -> Bool {
        guard let place = author.line.firstIndex(of: removal.device),
            author.goes(with: removal.device, keeping: removal.keep)
        else { return false }
        if removal.author.user == self.owner, author.user != self.owner { return true }
        return removal.author.user == author.user
            && (author.line[(place + 1)...].contains(removal.author.line[0])
                || removal.author.generation > author.generation)
    }

    /// The counting grants to its user that a chain names.
    private func grants(
        of segment: SegmentIndex,
        by author: ChainAuthor,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [CountingGrant] {
        guard let numbers = self.grantNumbers[author.user] else { return [] }
        let named = try transaction.places(of: transaction.segment(segment).introduction?.grants ?? [])
        return numbers.map { self.grants[$0] }.filter { named.contains($0.place) }
    }

    /// How far a segment is written under a grant that is not taken back there.
    private func end(of segment: SegmentIndex, under grant: CountingGrant) -> UInt64 {
        var end = UInt64.max
        for number in self.removalNumbers(of: grant) where end > 0 && self.removals[number].takes(grant) {
            end = min(end, self.removals[number].ends[segment])
        }
        return end
    }

    /// Whether a grant is taken back, by some of what is said.
    private func isRemoved(_ grant: CountingGrant, by counts: (CountingRemoval) -> Bool = { _ in true }) -> Bool {
        self.removalNumbers(of: grant).contains { number in
            self.removals[number].takes(grant) && counts(self.removals[number])
        }
    }

    /// The removals of a user from a role that he was granted, but for those that the grant overrides.
    private func removals(of grant: CountingGrant) -> [CountingRemoval] {
        self.removalNumbers(of: grant).map { self.removals[$0] }.filter { $0.takes(grant) }
    }
}

extension ChainAuthor {
    /// Whether it stands above another device of its user: it vouches for that one, directly or through others, or is
    /// of a later generation.
    package func standsAbove(_ other: ChainAuthor) -> Bool {
        self.user == other.user
            && (other.line.dropFirst().contains(self.line[0]) || self.generation > other.generation)
    }

    /// Whether the removal of a device takes this one with it, unless it or one between is kept.
    package func goes(with device: DeviceID, keeping keep: Set<DeviceID>) -> Bool {
        guard let place = self.line.firstIndex(of: device) else { return false }
        return !self.line[..<place].contains(where: keep.contains)
    }
}

extension RightsStatement.Grant {
    fileprivate func allows(_ need: RightNeed) -> Bool {
        switch need {
        case .role(.reader): true
        case .role(let role): self.role < role || self.role == role && self.names == nil
        case .write(let name):
            self.role < .writer
                || self.role == .writer && (self.names?.contains { ExactText($0) == ExactText(name) } ?? true)
        case .owner: false
        }
    }
}

/// Who writes a chain, as its certificates say.
package struct ChainAuthor: Hashable, Sendable {
    package var user: UserID
    /// The device, and behind it those that vouch for it, the nearest first.
    package var line: [DeviceID]
    package var generation: UInt32

    package init?(_ introduction: Introduction) {
        guard let first = introduction.certificates.first else { return nil }
        self.user = introduction.user
        self.line = introduction.certificates.map(\.device)
        self.generation = first.generation
    }

    init?(of segment: SegmentIndex, in transaction: some StoreTransaction) {
        guard let introduction = transaction.segment(segment).introduction else { return nil }
        self.init(introduction)
    }
}

/// In which order removals of devices are judged.
private struct Rank: Comparable {
    private let isOthers: Bool
    private let generation: UInt32
    private let depth: Int
    private let hash: Hash256
    private let index: UInt32

    init(_ author: ChainAuthor, isOwner: Bool, _ hash: Hash256, _ index: UInt32) {
        (self.isOthers, self.generation, self.depth) = (!isOwner, author.generation, author.line.count)
        (self.hash, self.index) = (hash, index)
    }

    static func < (left: Rank, right: Rank) -> Bool {
        if left.isOthers != right.isOthers { return right.isOthers }
        if left.generation != right.generation { return left.generation > right.generation }
        return (left.depth, left.hash, left.index) < (right.depth, right.hash, right.index)
    }
}

/// Some changes with all that comes before them in their chains.
private struct ChainEnds: Sendable {
    private var ends: [SegmentIndex: UInt64] = [:]

    /// Of heads that are not here nothing is known, until they come.
    ///
    /// - Complexity: O(*n* *f*) for *n* heads, each behind *f* forks.
    init(_ heads: [NamedChange], in transaction: inout some StoreTransaction) throws(StoreError) {
        for head in heads {
            var next = try transaction.place(of: head.replica, sequence: head.sequence, hash: head.hash)
            while let place = next, place.sequence > self[place.segment] {
                self.ends[place.segment] = place.sequence
                next = transaction.segment(place.segment).origin?.parent
            }
        }
    }

    /// The sequence of the last of its changes among them; 0 if there is none.
    subscript(segment: SegmentIndex) -> UInt64 { self.ends[segment] ?? 0 }
}

extension StoreTransaction {
    /// Where statements are, of those that are here.
    fileprivate mutating func places(of statements: [StatementID]) throws(StoreError) -> Set<StatementPlace> {
        var places: Set<StatementPlace> = []
        for statement in statements {
            let change = statement.change
            guard let place = try self.place(of: change.replica, sequence: change.sequence, hash: change.hash) else {
                continue
            }
            places.insert(StatementPlace(change: place, index: statement.index))
        }
        return places
    }
}

extension UInt64 {
    fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}
