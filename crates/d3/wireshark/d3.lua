-- Dissector of D3 datagrams for Wireshark and tshark. docs/wire.md specifies the format: version 1 over UDP, version 0
-- directly over IP (protocol 253) in the simulator's captures.
--
--   tshark -X lua_script:crates/d3/wireshark/d3.lua -r FILE
--
-- In Wireshark, copy this file to the "Personal Lua Plugins" folder (Help > About > Folders). Datagrams are checked
-- like in the protocol's decoder: `d3.error` contains the decoder's message, together with an expert information. The
-- checksum is verified if the capture contains the whole datagram.

local bits = bit32 or bit
local band, bxor, rshift = bits.band, bits.bxor, bits.rshift

local MAGIC, REQUEST_BYTES, MAX_HOPS = 0xd3, 22, 6
local TRANSPORT_BYTES, HEADER_BYTES, CHECKSUM = 20, 44, 40
local MAX_PAYLOAD = 65535 - TRANSPORT_BYTES - REQUEST_BYTES - 8

local FLAGS = { "SYN", "FIN", "ACK", "FEEDBACK", "GAP", "RETRANSMIT", "QUENCH" }
local KINDS = { [0] = "packet", "ping", "pong", "reset", "challenge" }
local REASONS = { [0] = "refused", "unknown", "abandoned", "version" }
local ACK = 4

local d3 = Proto("d3", "D3: Deadline-Driven Delivery")

local f = {
    magic = ProtoField.uint8("d3.magic", "Magic", base.HEX),
    flags = ProtoField.uint8("d3.flags", "Flags", base.HEX),
    has_request = ProtoField.bool("d3.flags.request", "Congestion header", 8, nil, 0x80),
    payload_length = ProtoField.uint16("d3.payload_length", "Payload length", base.DEC),
    position = ProtoField.uint64("d3.position", "Position", base.DEC),
    number = ProtoField.uint16("d3.number", "Number of the request", base.DEC),
    echo = ProtoField.uint16("d3.echo", "Number of the request answered", base.DEC),
    hops = ProtoField.uint8("d3.hops", "Slots of the feedback", base.DEC),
    stamps = ProtoField.uint8("d3.stamps", "Stamps of the feedback", base.HEX),
    version = ProtoField.uint8("d3.version", "Version", base.DEC),
    kind = ProtoField.uint8("d3.kind", "Kind", base.DEC, KINDS),
    destination = ProtoField.uint64("d3.destination", "Destination", base.HEX),
    source = ProtoField.uint64("d3.source", "Source", base.HEX),
    window = ProtoField.uint32("d3.window", "Receive window", base.DEC),
    checksum = ProtoField.uint32("d3.checksum", "CRC-32C", base.HEX),
    checksum_status = ProtoField.string("d3.checksum.status", "Checksum status"),
    desired = ProtoField.uint8("d3.request.desired", "Desired rate r(t+1)", base.DEC),
    index = ProtoField.uint8("d3.request.index", "Next free slot", base.DEC),
    request_stamps = ProtoField.uint8("d3.request.stamps", "Stamps", base.HEX),
    scale = ProtoField.int8("d3.request.scale", "Scale", base.DEC),
    pace = ProtoField.uint8("d3.request.pace", "Pace", base.DEC),
    allocation = ProtoField.uint8("d3.request.allocation", "Allocation a(t+1)", base.DEC),
    previous_desired = ProtoField.uint8("d3.request.previous_desired", "Previous desired rate r(t)", base.DEC),
    previous_allocation = ProtoField.uint8("d3.request.previous_allocation", "Previous allocation a(t)", base.DEC),
    feedback = ProtoField.uint8("d3.request.feedback", "Feedback", base.DEC),
    payload = ProtoField.bytes("d3.payload", "Payload"),
    error = ProtoField.string("d3.error", "Error"),
}
for i, name in ipairs(FLAGS) do
    f["flag" .. i] = ProtoField.bool("d3.flags." .. name:lower(), name, 8, nil, 2 ^ (i - 1))
end
d3.fields = f

local malformed = ProtoExpert.new("d3.malformed", "Not a D3 datagram", expert.group.MALFORMED, expert.severity.ERROR)
local damaged = ProtoExpert.new("d3.damaged", "Damaged", expert.group.CHECKSUM, expert.severity.ERROR)
local another = ProtoExpert.new("d3.another_version", "Another version", expert.group.PROTOCOL, expert.severity.WARN)
d3.experts = { malformed, damaged, another }

d3.prefs.ports = Pref.range("UDP ports", "7000", "UDP ports for D3; elsewhere, datagrams are recognised by form.", 65535)

-- CRC-32C table, reflected.
local CRC = {}
for byte = 0, 255 do
    local crc = byte
    for _ = 1, 8 do
        crc = bxor(rshift(crc, 1), band(crc, 1) == 1 and 0x82f63b78 or 0)
    end
    CRC[byte] = crc
end

local function crc32c(...)
    local crc = 0xffffffff
    for _, text in ipairs({ ... }) do
        for i = 1, #text do
            crc = bxor(rshift(crc, 8), CRC[band(bxor(crc, text:byte(i)), 0xff)])
        end
    end
    return bxor(crc, 0xffffffff) % 0x100000000
end

local function has_request(tvb)
    return band(tvb(1, 1):uint(), 0x80) ~= 0
end

-- Returns true if a datagram of version 1 begins at `offset`, with at least a header of data after it.
local function is_version_1(tvb, offset)
    return tvb(offset, 1):uint() == MAGIC and tvb(offset + 18, 1):uint() == 1
end

-- Returns the header length of a version, without the congestion header.
local function header_bytes(version)
    return version == 1 and HEADER_BYTES or TRANSPORT_BYTES
end

local function raw(tvb, offset, length)
    return length > 0 and tvb:raw(offset, length) or ""
end

-- Returns true if the checksum matches, over the preceding header, the payload, and the congestion header. Returns nil
-- if the capture is truncated.
local function checksum_fits(tvb, headers)
    if tvb:reported_len() > tvb:len() then
        return nil
    end
    local crc = crc32c(raw(tvb, 0, CHECKSUM), raw(tvb, headers, tvb:len() - headers),
        raw(tvb, HEADER_BYTES, headers - HEADER_BYTES))
    return crc == tvb(CHECKSUM, 4):uint()
end

-- Checks bytes 1 to 17, the congestion header at `start` and the length. Returns the decoder's message, or nil.
local function transport_error(tvb, start)
    local tag = tvb(12, 4):uint() + tvb(16, 2):uint()
    if not has_request(tvb) and tag ~= 0 or tvb(17, 1):uint() > 0x3f then
        return "unknown flag or reserved bit"
    end
    if tvb(16, 1):uint() > MAX_HOPS then
        return "index above six"
    end
    local headers = start
    if has_request(tvb) then
        headers = start + REQUEST_BYTES
        if tvb:reported_len() < headers then
            return "shorter than its header"
        end
        if tvb:len() > start + 1 and band(tvb(start + 1, 1):uint(), 7) > MAX_HOPS then
            return "index above six"
        end
    end
    local length = tvb(2, 2):uint()
    if length ~= tvb:reported_len() - headers or length > MAX_PAYLOAD then
        return "length disagrees with the datagram"
    end
end

-- Checks the fields that a kind may have in addition to its identifiers (version 1). Returns the decoder's message, or nil.
local function kind_error(tvb)
    local kind, flags, window = tvb(19, 1):uint(), tvb(1, 1):uint(), tvb(36, 4):uint()
    local position = tvb(4, 4):uint() + tvb(8, 4):uint()
    local fits
    if kind == 0 then
        fits = window == 0 or band(flags, ACK) ~= 0
    else
        local plain = flags == 0 and tvb(2, 2):uint() == 0 and window == 0
        fits = KINDS[kind] and plain and (kind == 3 or position == 0)
    end
    if not fits then
        return "unknown flag or reserved bit"
    end
end

local function rate(byte, scale)
    return string.format("%.6g Mbps", byte * 2 ^ scale * 8)
end

-- Adds the congestion header at `start`. Returns a summary.
local function congestion_header(tvb, start, parent)
    local tree = parent:add(tvb(start, REQUEST_BYTES), "Congestion header")
    local second, third = tvb(start + 1, 1), tvb(start + 2, 1)
    local scale = band(third:uint(), 0x1f)
    if scale >= 16 then
        scale = scale - 32
    end
    -- Bits that differ from the scale's sign are the stamp of hop 5 and the pace.
    local difference = bxor(third:uint(), band(scale, 0xff))
    local function rates(field, offset, count)
        for i = 0, count - 1 do
            local cell = tvb(start + offset + i, 1)
            local item = tree:add(field, cell)
            item:append_text((count > 1 and ", hop " .. i or "") .. ": " .. rate(cell:uint(), scale))
        end
    end
    rates(f.desired, 0, 1)
    tree:add(f.index, second, band(second:uint(), 7))
    tree:add(f.request_stamps, second, rshift(second:uint(), 3) + band(difference, 0x20))
    tree:add(f.scale, third, scale)
    tree:add(f.pace, third, rshift(difference, 6))
    rates(f.allocation, 3, MAX_HOPS)
    rates(f.previous_desired, 9, 1)
    rates(f.previous_allocation, 10, MAX_HOPS)
    rates(f.feedback, 16, MAX_HOPS)
    return "request for " .. rate(tvb(start, 1):uint(), scale)
end

-- Adds the bytes that both versions share. Returns a summary.
local function transport_header(tvb, tree)
    tree:add(f.magic, tvb(0, 1))
    local flags, names = tree:add(f.flags, tvb(1, 1)), {}
    for i, name in ipairs(FLAGS) do
        flags:add(f["flag" .. i], tvb(1, 1))
        if band(tvb(1, 1):uint(), 2 ^ (i - 1)) ~= 0 then
            names[#names + 1] = name
        end
    end
    flags:add(f.has_request, tvb(1, 1))
    tree:add(f.payload_length, tvb(2, 2))
    tree:add(f.position, tvb(4, 8))
    tree:add(f.number, tvb(12, 2))
    tree:add(f.echo, tvb(14, 2))
    tree:add(f.hops, tvb(16, 1))
    tree:add(f.stamps, tvb(17, 1))
    tree:add(f.version, tvb(18, 1))
    tree:add(f.kind, tvb(19, 1))
    local words = #names > 0 and table.concat(names, " ") or "data"
    return string.format("%s, position %s, %d bytes", words, tostring(tvb(4, 8):uint64()), tvb(2, 2):uint())
end

local function stream_fields(tvb, tree)
    tree:add(f.destination, tvb(20, 8))
    tree:add(f.source, tvb(28, 8))
end

-- Adds all fields of a datagram. Returns a summary and the captured header length.
local function all_fields(tvb, tree, version)
    local start = header_bytes(version)
    local words = transport_header(tvb, tree)
    if version == 1 then
        local kind = tvb(19, 1):uint()
        if kind ~= 0 then
            words = KINDS[kind] or "unknown kind"
            if kind == 3 then
                words = words .. ": " .. (REASONS[tonumber(tostring(tvb(4, 8):uint64()))] or "unknown")
            end
        end
        stream_fields(tvb, tree)
        tree:add(f.window, tvb(36, 4))
        tree:add(f.checksum, tvb(CHECKSUM, 4))
    end
    local headers = start
    if has_request(tvb) and tvb:len() >= start + REQUEST_BYTES then
        words = words .. ", " .. congestion_header(tvb, start, tree)
        headers = start + REQUEST_BYTES
    end
    if tvb:len() > headers then
        tree:add(f.payload, tvb(headers))
    end
    return words, headers
end

local function add_error(tree, expert_info, message)
    tree:add(f.error, message):set_generated()
    tree:add_proto_expert_info(expert_info, message)
    return message
end

-- Adds a datagram of a version to the tree and checks it in the decoder's order. Returns a summary.
local function dissect(tvb, root, version)
    local min_length = header_bytes(version)
    local tree = root:add(d3, tvb())
    if tvb:reported_len() < min_length then
        return add_error(tree, malformed, "shorter than its header")
    end
    if tvb:len() < min_length then
        return "truncated header in the capture"
    end
    if tvb(0, 1):uint() ~= MAGIC then
        return add_error(tree, malformed, "not a D3 datagram")
    end
    local theirs = tvb(18, 1):uint()
    if version == 1 and theirs ~= 1 then
        tree:add(f.magic, tvb(0, 1))
        tree:add(f.version, tvb(18, 1))
        stream_fields(tvb, tree)
        return add_error(tree, another, string.format("version %d of the format, and not 1", theirs))
    end
    local words, headers = all_fields(tvb, tree, version)
    local message
    if version == 1 then
        if has_request(tvb) and tvb:reported_len() < HEADER_BYTES + REQUEST_BYTES then
            return add_error(tree, malformed, "shorter than its header")
        end
        local fits = checksum_fits(tvb, headers)
        local status = fits == nil and "unverified" or fits and "good" or "bad"
        tree:add(f.checksum_status, tvb(CHECKSUM, 4), status):set_generated()
        if fits == false then
            return add_error(tree, damaged, "the checksum disagrees with the bytes")
        end
        message = transport_error(tvb, HEADER_BYTES) or kind_error(tvb)
    elseif tvb(18, 2):uint() ~= 0 then
        message = "unknown flag or reserved bit"
    else
        message = transport_error(tvb, TRANSPORT_BYTES)
    end
    return message and add_error(tree, malformed, message) or words
end

-- Returns the length of the first datagram if others follow in the same frame, or nil. A host captures such batches
-- before its kernel or NIC splits them.
local function first_of_batch(tvb)
    if tvb:len() < HEADER_BYTES or not is_version_1(tvb, 0) then
        return nil
    end
    local length = HEADER_BYTES + (has_request(tvb) and REQUEST_BYTES or 0) + tvb(2, 2):uint()
    local follows = tvb:len() >= length + HEADER_BYTES and is_version_1(tvb, length)
    return follows and length or nil
end

-- Dissects all datagrams on the UDP ports of the preferences.
function d3.dissector(tvb, pinfo, root)
    local all, words = tvb:len(), {}
    local length = first_of_batch(tvb)
    while length do
        words[#words + 1] = dissect(tvb(0, length):tvb(), root, 1)
        tvb = tvb(length):tvb()
        length = first_of_batch(tvb)
    end
    words[#words + 1] = dissect(tvb, root, 1)
    pinfo.cols.protocol = "D3"
    pinfo.cols.info = table.concat(words, " | ")
    return all
end

-- Dissects datagrams on any UDP port that have the form of version 1.
local function heuristic(tvb, pinfo, root)
    if tvb:len() < HEADER_BYTES or not is_version_1(tvb, 0) or not KINDS[tvb(19, 1):uint()] then
        return false
    end
    d3.dissector(tvb, pinfo, root)
    return true
end

-- Dissects the simulator's datagrams, directly over IP.
local simulated = Proto("d3_simulated", "D3 in a simulator's capture")

function simulated.dissector(tvb, pinfo, root)
    local words = dissect(tvb, root, 0)
    pinfo.cols.protocol = "D3"
    pinfo.cols.info = words
    return tvb:len()
end

local udp, registered = DissectorTable.get("udp.port"), nil

local function register_ports()
    if registered ~= d3.prefs.ports then
        if registered then
            udp:remove(registered, d3)
        end
        registered = d3.prefs.ports
        udp:add(registered, d3)
    end
end

d3.prefs_changed = register_ports
register_ports()
d3:register_heuristic("udp", heuristic)
DissectorTable.get("ip.proto"):add(253, simulated)
