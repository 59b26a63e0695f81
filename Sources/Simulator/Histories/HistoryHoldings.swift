/// Which changes of which chains somebody has, by their places in the order in which their peer wrote them.
///
/// Mostly all up to some place; a peer that was put back and goes on has its own new changes beyond what it has lost.
struct HistoryHoldings: Hashable, Sendable {
    struct Place: Hashable, Sendable {
        /// Whose change it is.
        var chain: Int
        /// How many that peer had written before.
        var position: Int
    }

    /// Up to where all of each chain is there.
    private(set) var counts: [Int]
    private var others: Set<Place> = []

    init(chainCount: Int) { self.counts = Array(repeating: 0, count: chainCount) }

    func has(_ place: Place) -> Bool {
        place.position < self.counts[place.chain] || !self.others.isEmpty && self.others.contains(place)
    }

    mutating func add(_ place: Place) {
        guard place.position == self.counts[place.chain] else {
            if place.position > self.counts[place.chain] { self.others.insert(place) }
            return
        }
        self.counts[place.chain] += 1
        guard !self.others.isEmpty else { return }
        while self.others.remove(Place(chain: place.chain, position: self.counts[place.chain])) != nil {
            self.counts[place.chain] += 1
        }
    }

    /// The first changes of a chain that are not there, in order, of so many that there are.
    func missing(of chain: Int, count: Int, total: Int) -> [Place] {
        var places: [Place] = []
        var position = self.counts[chain]
        while position < total, places.count < count {
            let place = Place(chain: chain, position: position)
            if !self.has(place) { places.append(place) }
            position += 1
        }
        return places
    }

    /// What another has and this one has not, chain by chain from a first one on.
    func missing(from other: HistoryHoldings, first: Int) -> [Place] {
        var places: [Place] = []
        for number in self.counts.indices {
            let chain = (first + number) % self.counts.count
            for position in self.counts[chain]..<max(self.counts[chain], other.counts[chain]) {
                let place = Place(chain: chain, position: position)
                if !self.has(place) { places.append(place) }
            }
        }
        if !other.others.isEmpty {
            places += other.others.filter { !self.has($0) }
                .sorted { ($0.chain, $0.position) < ($1.chain, $1.position) }
        }
        return places
    }
}
