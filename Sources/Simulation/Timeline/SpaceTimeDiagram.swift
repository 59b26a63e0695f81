internal import Glibc

/// A trace as a picture: a self-contained HTML page with one SVG in it.
///
/// Time goes down, each machine is a line, messages slant from line to line. A line's colour is the state its machine
/// has: equal colours are equal states. Machines that are down, paused or gone, and partitions, are bands.
package struct SpaceTimeDiagram {
    private let trace: Trace
    /// How far down each time is, by entry.
    private let heights: [Double]
    private var shapes: [String] = []

    private static let columnWidth = 190.0
    private static let margin = 90.0
    private static let top = 50.0

    package static func page(of trace: Trace, title: String) -> String {
        var diagram = SpaceTimeDiagram(trace)
        diagram.draw()
        let bottom = (diagram.heights.last ?? 0) + 40
        let width = SpaceTimeDiagram.margin * 2 + SpaceTimeDiagram.columnWidth * Double(max(1, trace.machineCount))
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(self.escaped(title))</title>
            <style>
            body { font: 13px/1.5 system-ui, sans-serif; margin: 1em }
            svg text { font: 10px ui-monospace, monospace; fill: #333 }
            .head { font-size: 13px; font-weight: 600 }
            .message { stroke: #9aa; stroke-width: 1 }
            .lost { stroke: #c33; stroke-width: 1; stroke-dasharray: 4 3 }
            .partition { fill: #fd6; opacity: .25 }
            .down { fill: #888; opacity: .45 } .paused { fill: #69c; opacity: .45 } .failed { fill: #c33; opacity: .25 }
            .action { fill: #06c } .notice { fill: #a50 } .found { fill: #c00; font-weight: 700 }
            </style></head><body>
            <h1>\(self.escaped(title))</h1>
            <p>Time goes down, not to scale. The colour of a line is the state its machine has: equal colours are \
            equal states. Grey: down. Blue: paused. Red: gone. Yellow: a partition. Point at something to read it \
            whole.</p>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(self.number(width))" height="\(self.number(bottom))">
            \(diagram.shapes.joined(separator: "\n"))
            </svg></body></html>

            """
    }

    private init(_ trace: Trace) {
        self.trace = trace
        var heights: [Double] = []
        var height = SpaceTimeDiagram.top
        var last: VirtualTime?
        for entry in trace.entries {
            if let last {
                let gap = Double((entry.time - last).microseconds) / 1_000
                height += gap > 0 ? 4 + 10 * log10(1 + gap) : 0
            }
            // What happens at one instant on one machine must not be drawn on top of each other.
            switch entry.kind {
            case .action, .notice, .found: height += 11
            case .sent, .arrived, .condition, .state, .partition: height += 1
            }
            heights.append(height)
            last = entry.time
        }
        self.heights = heights
    }

    // MARK: - Drawing

    private mutating func draw() {
        self.drawPartitions()
        for machine in 0..<self.trace.machineCount { self.drawLine(of: machine) }
        self.drawMessages()
        self.drawTexts()
        self.drawTimes()
    }

    private func column(_ machine: Int) -> Double {
        SpaceTimeDiagram.margin + SpaceTimeDiagram.columnWidth * (Double(machine) + 0.15)
    }

    private mutating func drawPartitions() {
        var start: Double?
        let width = SpaceTimeDiagram.columnWidth * Double(self.trace.machineCount)
        for (number, entry) in self.trace.entries.enumerated() {
            guard case .partition(let isOn) = entry.kind else { continue }
            if isOn {
                start = self.heights[number]
            } else if let begin = start {
                self.rectangle("partition", SpaceTimeDiagram.margin, begin, width, self.heights[number] - begin)
                start = nil
            }
        }
        if let start, let end = self.heights.last {
            self.rectangle("partition", SpaceTimeDiagram.margin, start, width, end - start)
        }
    }

    /// A machine's line in the colours of its states, and bands where it is not up.
    private mutating func drawLine(of machine: Int) {
        let x = self.column(machine)
        self.text("head", x - 20, SpaceTimeDiagram.top - 20, "peer\(machine)", nil)
        var segment: (begin: Double, state: UInt32)?
        var band: (begin: Double, name: String)?
        let end = self.heights.last ?? SpaceTimeDiagram.top
        for (number, entry) in self.trace.entries.enumerated() where entry.machine == machine {
            let height = self.heights[number]
            switch entry.kind {
            case .state(let state):
                if let segment { self.stroke(x, segment.begin, height, segment.state) }
                segment = (height, state)
            case .condition(let condition):
                if let band { self.rectangle(band.name, x - 9, band.begin, 18, height - band.begin) }
                band = condition == .up ? nil : (height, "\(condition)")
                if segment == nil { segment = (height, 0) }
            case .action, .sent, .arrived, .notice, .partition, .found: break
            }
        }
        if let segment { self.stroke(x, segment.begin, end, segment.state) }
        if let band { self.rectangle(band.name, x - 9, band.begin, 18, end - band.begin) }
    }

    private mutating func drawMessages() {
        var arrivals: [Int: (number: Int, isHeard: Bool)] = [:]
        for (number, entry) in self.trace.entries.enumerated() {
            if case .arrived(let sent, _, let isHeard) = entry.kind { arrivals[sent] = (number, isHeard) }
        }
        for (number, entry) in self.trace.entries.enumerated() {
            guard case .sent(let to, let byteCount) = entry.kind, let from = entry.machine else { continue }
            let begin = (x: self.column(from), y: self.heights[number])
            let title = "\(ColumnTimeline.seconds(entry.time)) peer\(from) to peer\(to): \(byteCount) bytes"
            if let arrival = arrivals[number] {
                let end = (x: self.column(to), y: self.heights[arrival.number])
                let name = arrival.isHeard ? "message" : "lost"
                self.line(name, begin, end, arrival.isHeard ? title : title + ", to nobody")
            } else {
                let end = (x: begin.x + (self.column(to) - begin.x) * 0.4, y: begin.y + 12)
                self.line("lost", begin, end, title + ", never arrived")
            }
        }
    }

    private mutating func drawTexts() {
        for (number, entry) in self.trace.entries.enumerated() {
            let x = entry.machine.map { self.column($0) + 12 } ?? SpaceTimeDiagram.margin
            let name: String
            switch entry.kind {
            case .action: name = "action"
            case .notice: name = "notice"
            case .found: name = "found"
            case .sent, .arrived, .condition, .state, .partition: continue
            }
            let short = entry.kind.text.count > 28 ? entry.kind.text.prefix(27) + "…" : entry.kind.text
            self.text(name, x, self.heights[number] + 3, short, entry.kind.text)
        }
    }

    private mutating func drawTimes() {
        var last = -100.0
        for (number, entry) in self.trace.entries.enumerated() where self.heights[number] - last > 28 {
            last = self.heights[number]
            self.text("time", 4, last + 3, ColumnTimeline.seconds(entry.time), nil)
        }
    }

    // MARK: - Shapes

    private mutating func rectangle(_ name: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double) {
        let place = "x=\"\(Self.number(x))\" y=\"\(Self.number(y))\""
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(max(height, 2)))\""
        self.shapes.append("<rect class=\"\(name)\" \(place) \(size)/>")
    }

    private mutating func stroke(_ x: Double, _ top: Double, _ bottom: Double, _ state: UInt32) {
        let colour = state == 0 ? "#bbb" : "hsl(\(state % 360),70%,\(35 + state / 360 % 30)%)"
        let place =
            "x1=\"\(Self.number(x))\" y1=\"\(Self.number(top))\" x2=\"\(Self.number(x))\" y2=\"\(Self.number(bottom))\""
        let title = "<title>state \(String(state, radix: 16))</title>"
        self.shapes.append("<line \(place) stroke=\"\(colour)\" stroke-width=\"5\">\(title)</line>")
    }

    private mutating func line(
        _ name: String,
        _ from: (x: Double, y: Double),
        _ to: (x: Double, y: Double),
        _ title: String
    ) {
        let begin = "x1=\"\(Self.number(from.x))\" y1=\"\(Self.number(from.y))\""
        let end = "x2=\"\(Self.number(to.x))\" y2=\"\(Self.number(to.y))\""
        self.shapes.append("<line class=\"\(name)\" \(begin) \(end)><title>\(Self.escaped(title))</title></line>")
    }

    private mutating func text(_ name: String, _ x: Double, _ y: Double, _ text: String, _ title: String?) {
        let place = "x=\"\(Self.number(x))\" y=\"\(Self.number(y))\""
        let whole = title.map { "<title>\(Self.escaped($0))</title>" } ?? ""
        self.shapes.append("<text class=\"\(name)\" \(place)>\(Self.escaped(text))\(whole)</text>")
    }

    /// With one digit behind the point, which is finer than any screen.
    private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
